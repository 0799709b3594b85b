// Timeline: what each rank did when. Far away the shares of stretches of time, near by single accesses.
const TIMELINE = { right: 34, top: 6, bottom: 24 };
const KINDS = [["read", "Reading"], ["write", "Writing"], ["meta", "Metadata"]];
const CLOSEST = 1e-9;

class TimelineChart {
  constructor(figure, data) {
    this.data = data;
    this.canvas = figure.querySelector("canvas");
    this.status = figure.querySelector(".status");
    this.from = 0;
    this.to = data.end;
    this.shown = [true, true, true];
    this.dragged = null;
    this.buildTools(figure.querySelector(".tools"));
    this.accesses = data.accesses.map((a) => ({
      row: a[0], start: a[1], length: a[2], kind: a[3], bytes: a[4], offset: a[5], file: a[6],
    })).sort((a, b) => a.start - b.start);
    this.longest = Math.max(0, ...this.accesses.map((a) => a.length));
    const on = (name, action) => this.canvas.addEventListener(name, action);
    on("keydown", (event) => this.key(event));
    on("wheel", (event) => this.wheel(event));
    on("mousedown", (event) => this.grab(event));
    on("mousemove", (event) => this.point(event));
    on("mouseleave", () => tip.hide());
    on("dblclick", (event) => this.zoom(0.25, this.timeAt(event.offsetX)));
    window.addEventListener("mouseup", () => {
      this.dragged = null;
    });
  }

  buildTools(tools) {
    control(tools, "+", "Zoom in", () => this.zoom(0.5));
    control(tools, "−", "Zoom out", () => this.zoom(2));
    control(tools, "◀", "Earlier", () => this.pan(-0.25));
    control(tools, "▶", "Later", () => this.pan(0.25));
    control(tools, "All", "Show all of the time", () => this.look(0, this.data.end));
    const used = KINDS.map((_, kind) => this.data.levels[0][1].some((cell) => cell[2 + kind] > 0));
    KINDS.forEach((way, kind) => {
      if (used[kind]) kindBox(tools, this, way, kind);
    });
  }

  timeAt(x) {
    return this.from + ((x - this.x0) / this.w) * (this.to - this.from);
  }

  look(from, to) {
    const length = Math.min(this.data.end, Math.max(CLOSEST, to - from));
    this.from = Math.max(0, Math.min(from, this.data.end - length));
    this.to = this.from + length;
    this.draw();
  }

  zoom(factor, around = (this.from + this.to) / 2) {
    const length = (this.to - this.from) * factor;
    const share = (around - this.from) / (this.to - this.from);
    this.look(around - share * length, around + (1 - share) * length);
  }

  pan(share) {
    const by = (this.to - this.from) * share;
    this.look(this.from + by, this.to + by);
  }

  key(event) {
    const actions = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2),
      Home: () => this.look(0, this.data.end), 0: () => this.look(0, this.data.end),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    actions[event.key]();
  }

  // The page scrolls on over a timeline until a click on it.
  wheel(event) {
    if (document.activeElement !== this.canvas && !event.ctrlKey) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX / this.w);
    else this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event.offsetX));
  }

  grab(event) {
    this.dragged = { x: event.offsetX, from: this.from, to: this.to };
  }

  // The coarsest level whose stretches are no wider than two pixels, else the finest.
  level() {
    const length = this.to - this.from;
    const fits = ([bins]) => (this.data.end / bins / length) * this.w <= 2;
    return this.data.levels.find(fits) || this.data.levels[this.data.levels.length - 1];
  }

  // Single accesses, if all are here and the view holds few enough to tell apart.
  visible() {
    const { accesses } = this;
    let low = 0;
    let high = accesses.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (accesses[middle].start < this.from - this.longest) low = middle + 1;
      else high = middle;
    }
    const found = [];
    for (let n = low; n < accesses.length && accesses[n].start <= this.to; n += 1) {
      const one = accesses[n];
      if (one.start + one.length >= this.from && this.shown[one.kind]) found.push(one);
    }
    return found;
  }

  draw() {
    const count = this.data.rows.length;
    const { pen, width, height } = sized(this.canvas);
    const longest = this.data.rows.reduce((a, b) => (b.length > a.length ? b : a), "");
    this.x0 = Math.max(30, Math.min(150, pen.measureText(longest).width + 14));
    this.w = width - this.x0 - TIMELINE.right;
    this.y0 = TIMELINE.top;
    this.h = height - TIMELINE.top - TIMELINE.bottom;
    pen.fillStyle = themed("--panel");
    pen.fillRect(this.x0, this.y0, this.w, this.h);
    pen.save();
    pen.beginPath();
    pen.rect(this.x0, this.y0, this.w, this.h);
    pen.clip();
    const colours = KINDS.map(([name]) => themed(`--${name}`));
    this.near = this.visible();
    this.exact = this.data.complete;
    if (!this.exact) this.drawLevel(pen, colours);
    this.drawAccesses(pen, colours);
    pen.restore();
    timeAxis(pen, this.x0, this.x0 + this.w, this.y0 + this.h, this.from, this.to);
    rowAxis(pen, (row) => this.data.rows[row], this.x0, this.y0, this.h, count);
    const span = `${secondsText(this.from)} to ${secondsText(this.to)}`;
    this.status.textContent = this.exact
      ? `${span}: ${grouped(this.near.length)} shown`
      : `${span}: intervals of ${secondsText(this.data.end / this.used[0])}`;
  }

  drawLevel(pen, colours) {
    this.used = this.level();
    const [bins, cells] = this.used;
    const row = this.h / this.data.rows.length;
    const perTime = this.w / (this.to - this.from);
    const width = (this.data.end / bins) * perTime;
    for (const cell of cells) {
      const x = this.x0 + ((cell[1] / bins) * this.data.end - this.from) * perTime;
      if (x + width < this.x0 || x > this.x0 + this.w) continue;
      const left = Math.round(x);
      this.drawShares(pen, colours, cell, left, Math.max(1, Math.round(x + width) - left), row);
    }
  }

  // Areas are shares of the stretch, one kind on the other; of several threads at once, parts of what they did.
  drawShares(pen, colours, cell, x, width, row) {
    const whole = Math.max(1, cell[2] + cell[3] + cell[4]);
    let y = this.y0 + cell[0] * row + row * 0.92;
    for (let kind = 0; kind < 3; kind += 1) {
      const height = (cell[2 + kind] / whole) * row * 0.84;
      if (!this.shown[kind] || height <= 0) continue;
      y -= height;
      pen.fillStyle = colours[kind];
      pen.fillRect(x, y, width, height);
    }
  }

  drawAccesses(pen, colours) {
    const row = this.h / this.data.rows.length;
    const perTime = this.w / (this.to - this.from);
    for (const one of this.near) {
      const x = this.x0 + (one.start - this.from) * perTime;
      const width = one.length * perTime;
      // Over the shares of stretches, only what is more than a speck.
      if (!this.exact && width < 2) continue;
      pen.fillStyle = colours[one.kind];
      pen.fillRect(x, this.y0 + one.row * row + row * 0.08, Math.max(1, width), row * 0.84);
    }
  }

  // The access, or else the stretch, under the pointer.
  under(row, time) {
    const slack = (2 / this.w) * (this.to - this.from);
    const hit = this.near.filter(
      (a) => a.row === row && a.start - slack <= time && time <= a.start + a.length + slack,
    );
    return hit.sort((a, b) => a.length - b.length)[0];
  }

  describe(row, time) {
    const one = this.under(row, time);
    const name = `${this.data.titles[row]}, at ${secondsText(time)}`;
    if (one) {
      const lines = [name, `${KINDS[one.kind][1].toLowerCase()} from ${secondsText(one.start)} for ${secondsText(one.length)}`];
      if (one.bytes >= 0) lines.push(`${bytesText(one.bytes)} at offset ${grouped(one.offset)}`);
      if (one.file >= 0) lines.push(this.data.files[one.file]);
      return lines;
    }
    if (this.exact) return [name];
    const [bins, cells] = this.used;
    const bin = Math.floor((time / this.data.end) * bins);
    const cell = cells.find((c) => c[0] === row && c[1] === bin);
    if (!cell) return [name, "nothing"];
    const shares = KINDS.map(([, title], n) => [title, cell[2 + n]]).filter(([, share]) => share > 0);
    const moved = cell[5] > 0 ? [bytesText(cell[5])] : []; // not known of all
    return [name, ...shares.map(([title, share]) => `${title.toLowerCase()} ${percentText(share)} of the time`), ...moved];
  }

  point(event) {
    if (this.dragged && event.buttons & 1) {
      const by = ((this.dragged.x - event.offsetX) / this.w) * (this.dragged.to - this.dragged.from);
      this.look(this.dragged.from + by, this.dragged.to + by);
      return;
    }
    const row = Math.floor(((event.offsetY - this.y0) / this.h) * this.data.rows.length);
    const time = this.timeAt(event.offsetX);
    if (row < 0 || row >= this.data.rows.length || time < this.from || time > this.to) tip.hide();
    else tip.show(event, this.describe(row, time));
  }
}
