// Tables: sorted by a click on a column's head, filtered by words, more rows on demand.
const ROWS_AT_ONCE = 25;

function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

class Sheet {
  constructor(figure, data) {
    this.figure = figure;
    this.data = data;
    this.table = figure.querySelector("table");
    this.body = figure.querySelector("tbody");
    this.count = figure.querySelector(".status");
    this.order = data.rows.map((_, n) => n);
    this.sorted = null;
    this.down = false;
    this.limit = this.body.rows.length;
    this.words = [];
    if (!data.tree) this.makeSortable();
    if (data.rows.length > 8) this.makeSearchable();
    this.makeMore();
  }

  makeSortable() {
    [...this.table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => this.sort(column));
    });
  }

  makeSearchable() {
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = "Filter";
    input.setAttribute("aria-label", `Filter ${this.table.caption.textContent}`);
    input.addEventListener("input", () => {
      this.words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      this.limit = ROWS_AT_ONCE;
      this.draw();
    });
    this.figure.querySelector(".tools").append(input);
  }

  makeMore() {
    this.more = document.createElement("button");
    this.more.type = "button";
    this.more.className = "more";
    this.more.addEventListener("click", () => {
      this.limit *= 4;
      this.draw();
    });
    this.figure.append(this.more);
    this.tell(this.data.rows.length);
  }

  sort(column) {
    const numeric = this.data.rows.some((row) => typeof row[column] === "number");
    this.down = this.sorted === column ? !this.down : numeric;
    this.sorted = column;
    const sign = this.down ? -1 : 1;
    const rows = this.data.rows;
    this.order.sort((a, b) => {
      const [x, y] = [rows[a][column], rows[b][column]];
      // What is not known comes last either way.
      return x === null || y === null ? compare(x, y) : sign * compare(x, y) || a - b;
    });
    [...this.table.tHead.rows[0].cells].forEach((head, n) => {
      head.setAttribute("aria-sort", n !== column ? "none" : this.down ? "descending" : "ascending");
    });
    this.draw();
  }

  matches(row) {
    const text = row.join("\n").toLowerCase();
    return this.words.every((word) => text.includes(word));
  }

  draw() {
    const { units, rows, tree } = this.data;
    const found = this.words.length ? this.order.filter((n) => this.matches(rows[n])) : this.order;
    this.body.replaceChildren(
      ...found.slice(0, this.limit).map((number) => {
        const line = document.createElement("tr");
        rows[number].forEach((value, column) => {
          const cell = document.createElement("td");
          cell.className = units[column];
          if (tree && column === 0) cell.classList.add(`depth${Math.min(9, tree[number])}`);
          cell.textContent = write(value, units[column]);
          line.append(cell);
        });
        return line;
      }),
    );
    this.tell(found.length);
  }

  tell(found) {
    const shown = Math.min(found, this.limit);
    const total = this.data.total;
    let text = shown < found || this.words.length ? `${grouped(shown)} of ${counted(found, "row")}` : "";
    if (this.words.length) text += ` found`;
    if (this.data.rows.length < total) {
      text += `${text ? "; " : ""}the first ${grouped(this.data.rows.length)} of ${counted(total, "row")}, all by iolens report --csv`;
    }
    this.count.textContent = text;
    this.more.hidden = shown >= found;
    this.more.textContent = `Show ${grouped(Math.min(found, this.limit * 4) - shown)} more`;
  }
}
