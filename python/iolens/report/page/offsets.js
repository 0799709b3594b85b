// Where in a file, and when: every access, or of many, counts on a grid of times and offsets.
const OFFSETS = { left: 78, right: 34, top: 8, bottom: 24 };
const WAYS = [["read", "Reading"], ["write", "Writing"]];

class OffsetChart {
  constructor(figure, data) {
    this.data = data;
    this.canvas = figure.querySelector("canvas");
    this.status = figure.querySelector(".status");
    this.chosen = 0;
    this.shown = [true, true];
    this.cursor = null;
    this.buildTools(figure.querySelector(".tools"));
    pointed(this);
  }

  buildTools(tools) {
    const names = this.data.files.map((file, n) => [String(n), file.name.length > 60 ? `…${file.name.slice(-59)}` : file.name]);
    const select = choice(tools, "File", names, (value) => {
      this.chosen = Number(value);
      this.cursor = null;
      this.draw();
    });
    select.classList.add("of-files");
    WAYS.forEach((way, kind) => kindBox(tools, this, way, kind));
  }

  // Marks: part of the time at which they begin and that they last, part of the file, kind, what they say.
  marks(file) {
    const { end, grid } = this.data;
    const size = Math.max(1, file.size);
    const single = file.accesses.map(([start, long, offset, length, kind, rank]) => ({
      x: start / end, w: long / end, y: offset / size, h: length / size, kind, deep: 1,
      lines: [
        `${this.data.rank} ${rank}, ${WAYS[kind][1].toLowerCase()} from ${secondsText(start)} for ${secondsText(long)}`,
        `${bytesText(length)} at offset ${grouped(offset)}`,
      ],
    }));
    const most = Math.max(1, ...file.cells.map((cell) => cell[3]));
    const gathered = file.cells.map(([time, place, kind, count, bytes]) => ({
      x: time / grid[0], w: 1 / grid[0], y: place / grid[1], h: 1 / grid[1], kind, deep: 0.25 + 0.75 * Math.sqrt(count / most),
      lines: [
        `${secondsText((time / grid[0]) * end)} to ${secondsText(((time + 1) / grid[0]) * end)}, from offset ${grouped(Math.floor((place / grid[1]) * size))}`,
        `${WAYS[kind][1].toLowerCase()}: ${counted(count, "access")} ${count === 1 ? "begins" : "begin"} here, ${bytesText(bytes)}`,
      ],
    }));
    return [...single, ...gathered].filter((mark) => this.shown[mark.kind]).sort((a, b) => a.x - b.x);
  }

  draw() {
    const file = this.data.files[this.chosen];
    const { pen, width, height } = sized(this.canvas);
    const [x0, y0] = [OFFSETS.left, OFFSETS.top];
    const [w, h] = [width - x0 - OFFSETS.right, height - y0 - OFFSETS.bottom];
    this.place = { x0, y0, w, h };
    pen.fillStyle = themed("--panel");
    pen.fillRect(x0, y0, w, h);
    const colours = WAYS.map(([name]) => themed(`--${name}`));
    this.near = this.marks(file);
    for (const mark of this.near) {
      mark.box = this.box(mark);
      pen.globalAlpha = mark.deep;
      pen.fillStyle = colours[mark.kind];
      pen.fillRect(...mark.box);
    }
    pen.globalAlpha = 1;
    this.axis(pen, file.size);
    timeAxis(pen, x0, x0 + w, y0 + h, 0, this.data.end);
    this.status.textContent = `${counted(file.count, "access")}${file.cells.length ? ", counted on a grid" : ""}; ${bytesText(file.size)} to the furthest`;
    if (this.cursor !== null && this.near[this.cursor]) {
      pen.strokeStyle = themed("--text");
      const [x, y, wide, tall] = this.near[this.cursor].box;
      pen.strokeRect(x - 2, y - 2, wide + 4, tall + 4);
    }
  }

  box(mark) {
    const { x0, y0, w, h } = this.place;
    const tall = Math.max(2, mark.h * h);
    return [x0 + mark.x * w, y0 + Math.max(0, h - mark.y * h - tall), Math.max(2, mark.w * w), tall];
  }

  axis(pen, size) {
    const { x0, y0, h } = this.place;
    const unit = 1024 ** Math.max(0, Math.floor(Math.log(Math.max(size, 1)) / Math.log(1024)));
    const step = niceStep(Math.max(size, 1) / unit, 5) * unit;
    pen.fillStyle = themed("--faint");
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (let at = 0; at <= size; at += step) pen.fillText(bytesText(at), x0 - 6, y0 + h - (at / Math.max(size, 1)) * h);
  }

  point(event) {
    const [px, py] = [event.offsetX, event.offsetY];
    const far = ([x, y, w, h]) => Math.hypot(Math.max(x - px, 0, px - x - w), Math.max(y - py, 0, py - y - h));
    let [best, least] = [null, 6];
    for (const mark of this.near) {
      const away = far(mark.box);
      if (away < least) [best, least] = [mark, away];
    }
    if (best) tip.show(event, best.lines);
    else tip.hide();
  }

  move(event) {
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!step || !this.near.length) return;
    event.preventDefault();
    this.cursor = this.cursor === null ? 0 : Math.max(0, Math.min(this.near.length - 1, this.cursor + step));
    this.draw();
    const box = this.canvas.getBoundingClientRect();
    const mark = this.near[this.cursor];
    tip.show({ clientX: box.left + mark.box[0], clientY: box.top + mark.box[1] }, mark.lines);
  }
}
