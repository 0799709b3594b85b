// Heat map: bytes per rank and stretch of time on a logarithmic scale, with sums above and beside it.
const HEAT = { left: 66, right: 92, top: 52, bottom: 44 };

class HeatMap {
  constructor(figure, data) {
    this.data = data;
    this.canvas = figure.querySelector("canvas");
    this.kind = "both";
    this.cursor = null;
    const tools = figure.querySelector(".tools");
    const both = data.cells.some((c) => c[2] > 0) && data.cells.some((c) => c[3] > 0);
    if (both) {
      choice(tools, "Show", [["both", "read and written"], ["read", "read"], ["write", "written"]], (kind) => {
        this.kind = kind;
        this.draw();
      });
    }
    pointed(this);
  }

  value(cell) {
    return (this.kind !== "write" ? cell[2] : 0) + (this.kind !== "read" ? cell[3] : 0);
  }

  rank(row) {
    const { perRow, ranks } = this.data;
    const first = row * perRow;
    return perRow === 1 ? String(first) : `${first}–${Math.min(first + perRow, ranks) - 1}`;
  }

  word() {
    const { perRow, rank } = this.data;
    return perRow === 1 ? rank : rank === "rank" ? "ranks" : "processes";
  }

  draw() {
    const { rows, bins, drawn } = this.data;
    const { pen, width, height } = sized(this.canvas);
    const [x0, y0] = [HEAT.left, HEAT.top];
    const right = rows > 1 ? HEAT.right : 20;
    const [w, h] = [width - x0 - right, height - y0 - HEAT.bottom];
    this.place = { x0, y0, w, h };
    this.grid = new Map();
    const byBin = new Float64Array(bins);
    const byRow = new Float64Array(rows);
    let [least, most] = [Infinity, 0];
    for (const cell of this.data.cells) {
      const value = this.value(cell);
      if (value <= 0) continue;
      this.grid.set(cell[0] * bins + cell[1], cell);
      byRow[cell[0]] += value;
      byBin[cell[1]] += value;
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
    pen.fillStyle = themed("--panel");
    pen.fillRect(x0, y0, w, h);
    const spread = Math.log(most / least) || 1;
    for (const cell of this.data.cells) {
      const value = this.value(cell);
      if (value <= 0) continue;
      const [r, g, b] = viridis(0.08 + (0.92 * Math.log(value / least)) / spread);
      pen.fillStyle = `rgb(${r} ${g} ${b})`;
      const left = Math.floor(x0 + (cell[1] / drawn) * w);
      const upper = Math.floor(y0 + (cell[0] / rows) * h);
      pen.fillRect(
        left,
        upper,
        Math.max(1, Math.ceil(x0 + Math.min(1, (cell[1] + 1) / drawn) * w) - left),
        Math.max(1, Math.ceil(y0 + ((cell[0] + 1) / rows) * h) - upper),
      );
    }
    this.strips(pen, byBin, byRow, width);
    pen.strokeStyle = themed("--line");
    pen.strokeRect(x0 - 0.5, y0 - 0.5, w + 1, h + 1);
    timeAxis(pen, x0, x0 + w, y0 + h, 0, (this.data.end * drawn) / bins);
    rowAxis(pen, (row) => this.rank(row), x0, y0, h, rows);
    pen.textAlign = "left";
    pen.textBaseline = "top";
    pen.fillText(this.word(), 4, y0 - 16);
    this.legend(pen, least, most, x0, height - 16, w);
    this.mark(pen);
  }

  strips(pen, byBin, byRow, width) {
    const { x0, y0, w, h } = this.place;
    const { rows, bins, drawn } = this.data;
    pen.fillStyle = themed("--first");
    const [mostBin, mostRow] = [Math.max(...byBin) || 1, Math.max(...byRow) || 1];
    byBin.forEach((value, bin) => {
      const tall = (value / mostBin) * (HEAT.top - 18);
      if (value > 0) pen.fillRect(x0 + (bin / drawn) * w, y0 - 4 - Math.max(1, tall), Math.max(1, Math.min(1, drawn - bin) * (w / drawn) - 0.5), Math.max(1, tall));
    });
    if (rows > 1) {
      byRow.forEach((value, row) => {
        const long = (value / mostRow) * (width - x0 - w - 16);
        if (value > 0) pen.fillRect(x0 + w + 5, y0 + (row / rows) * h, Math.max(1, long), Math.max(1, h / rows - 0.5));
      });
    }
    pen.fillStyle = themed("--faint");
    pen.textAlign = "right";
    pen.textBaseline = "top";
    pen.fillText(`at most ${bytesText(Math.round(mostBin))} in an interval${rows > 1 ? `, ${bytesText(Math.round(mostRow))} in a row` : ""}`, width - 4, 0);
  }

  legend(pen, least, most, x, y, w) {
    const long = Math.min(160, w / 3);
    for (let n = 0; n < long; n += 1) {
      const [r, g, b] = viridis(0.08 + (0.92 * n) / long);
      pen.fillStyle = `rgb(${r} ${g} ${b})`;
      pen.fillRect(x + w - long - 70 + n, y + 2, 1, 9);
    }
    pen.fillStyle = themed("--faint");
    pen.textBaseline = "top";
    pen.textAlign = "right";
    pen.fillText(most ? bytesText(least) : "nothing", x + w - long - 76, y);
    pen.textAlign = "left";
    pen.fillText(most ? bytesText(most) : "", x + w - 64, y);
  }

  mark(pen) {
    if (!this.cursor) return;
    const { x0, y0, w, h } = this.place;
    const { rows, bins, drawn } = this.data;
    pen.strokeStyle = themed("--text");
    pen.lineWidth = 2;
    pen.strokeRect(x0 + (this.cursor[1] / drawn) * w - 1, y0 + (this.cursor[0] / rows) * h - 1, Math.min(1, drawn - this.cursor[1]) * (w / drawn) + 2, h / rows + 2);
    pen.lineWidth = 1;
  }

  describe(row, bin) {
    const { bins, drawn, end } = this.data;
    const cell = this.grid.get(row * bins + bin);
    const span = `${secondsText((bin / bins) * end)} to ${secondsText((Math.min(bin + 1, drawn) / bins) * end)}`;
    return [
      `${this.word()} ${this.rank(row)}, ${span}`,
      cell ? `read ${bytesText(cell[2])}, written ${bytesText(cell[3])}` : "nothing",
    ];
  }

  point(event) {
    const { x0, y0, w, h } = this.place;
    const row = Math.floor(((event.offsetY - y0) / h) * this.data.rows);
    const bin = Math.floor(((event.offsetX - x0) / w) * this.data.drawn);
    if (row < 0 || bin < 0 || row >= this.data.rows || bin >= this.data.bins) tip.hide();
    else tip.show(event, this.describe(row, bin));
  }

  move(event) {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const { rows, bins, drawn } = this.data;
    const [row, bin] = this.cursor || [0, 0];
    this.cursor = [Math.max(0, Math.min(rows - 1, row + step[0])), Math.max(0, Math.min(bins - 1, bin + step[1]))];
    this.draw();
    const box = this.canvas.getBoundingClientRect();
    const { x0, y0, w, h } = this.place;
    const clientX = box.left + x0 + Math.min(1, (this.cursor[1] + 1) / drawn) * w;
    tip.show({ clientX, clientY: box.top + y0 + ((this.cursor[0] + 1) / rows) * h }, this.describe(...this.cursor));
  }
}
