// What the drawings on canvas share: sharp pixels, colours of the theme, axes, one tooltip.
const VIRIDIS = PALETTE;

function viridis(share) {
  const place = Math.max(0, Math.min(1, share)) * (VIRIDIS.length - 1);
  const low = Math.min(VIRIDIS.length - 2, Math.floor(place));
  const part = place - low;
  return VIRIDIS[low].map((c, n) => Math.round(c + (VIRIDIS[low + 1][n] - c) * part));
}

function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A canvas of its box's size, which the style sheet gives, with as many pixels as the screen has.
function sized(canvas) {
  const width = canvas.clientWidth || canvas.parentElement.clientWidth || 640;
  const height = canvas.clientHeight || 300;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "11px system-ui, sans-serif";
  return { pen, width, height };
}

function niceStep(length, count) {
  const raw = length / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 2.5, 5, 10].map((m) => m * power).find((step) => step >= raw * 0.999) || power;
}

// Seconds with as many digits as neighbouring ticks need.
function tickText(value, step) {
  if (step >= 1) return `${grouped(value)} s`;
  const [scale, unit] = step >= 1e-3 ? [1e3, "ms"] : [1e6, "us"];
  if (value >= 1) return `${value.toFixed(Math.max(1, Math.ceil(-Math.log10(step))))} s`;
  const inUnit = value * scale;
  return `${Number(inUnit.toPrecision(6))} ${unit}`;
}

function timeAxis(pen, left, right, y, from, to) {
  const step = niceStep(to - from, Math.max(2, (right - left) / 110));
  pen.fillStyle = themed("--faint");
  pen.strokeStyle = themed("--line");
  pen.textAlign = "center";
  pen.textBaseline = "top";
  for (let n = Math.ceil(from / step - 1e-9); n * step <= to + step * 1e-6; n += 1) {
    const x = left + ((n * step - from) / (to - from)) * (right - left);
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x, y + 4);
    pen.stroke();
    const text = tickText(n * step, step);
    const half = pen.measureText(text).width / 2;
    pen.fillText(text, Math.min(x, right + 30 - half), y + 6);
  }
}

function rowAxis(pen, names, left, top, height, count) {
  const step = height / count;
  const every = Math.max(1, Math.ceil(14 / step));
  pen.fillStyle = themed("--faint");
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (let row = 0; row < count; row += every) {
    let text = names(row);
    while (text.length > 3 && pen.measureText(text).width > left - 12) text = `${text.slice(0, -2)}…`;
    pen.fillText(text, left - 6, top + step * (row + 0.5));
  }
}

const tip = {
  box: null,
  show(event, lines) {
    if (!this.box) {
      this.box = document.createElement("div");
      this.box.className = "tip";
      this.box.setAttribute("role", "status");
      document.body.append(this.box);
    }
    this.box.replaceChildren(
      ...lines.map((text) => {
        const line = document.createElement("div");
        line.textContent = text;
        return line;
      }),
    );
    this.box.hidden = false;
    const { innerWidth, innerHeight } = window;
    const place = this.box.getBoundingClientRect();
    this.box.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - place.width - 8))}px`;
    this.box.style.top = `${Math.min(event.clientY + 14, innerHeight - place.height - 8)}px`;
  },
  hide() {
    if (this.box) this.box.hidden = true;
  },
};

// Buttons and switches above a drawing.
function control(parent, text, label, action) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.setAttribute("aria-label", label);
  button.title = label;
  button.addEventListener("click", action);
  parent.append(button);
  return button;
}

function choice(parent, label, options, action) {
  const wrap = document.createElement("label");
  const select = document.createElement("select");
  options.forEach(([value, text]) => select.add(new Option(text, value)));
  select.addEventListener("change", () => action(select.value));
  wrap.append(`${label} `, select);
  parent.append(wrap);
  return select;
}

// A box that shows a kind of access or hides it: chart.shown[kind].
function kindBox(parent, chart, [name, title], kind) {
  const label = document.createElement("label");
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = true;
  box.addEventListener("change", () => {
    chart.shown[kind] = box.checked;
    chart.draw();
  });
  const sample = document.createElement("span");
  sample.className = `swatch b-${name}`;
  label.append(box, sample, title);
  parent.append(label);
}

// What a chart says where the mouse or its cursor is: chart.point(event), chart.move(event), chart.cursor.
function pointed(chart) {
  const on = (name, action) => chart.canvas.addEventListener(name, action);
  on("mousemove", (event) => chart.point(event));
  on("mouseleave", () => tip.hide());
  on("keydown", (event) => chart.move(event));
  on("blur", () => {
    chart.cursor = null;
    tip.hide();
    chart.draw();
  });
}
