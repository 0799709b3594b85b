// A flame graph in an element of the page, with all frames at their places; zooming moves them.
function setUpFlame(box) {
  const WIDTH = 1200;
  const LETTER = 6.6;
  const graph = box.querySelector(".flame-graph");
  const frames = [...graph.querySelectorAll("g")];
  const controls = box.querySelector(".tools");
  const search = controls.querySelector("input");
  const found = controls.querySelector("output");
  const numbers = new Map(
    frames.map((frame) => [frame, { at: +frame.dataset.at, part: +frame.dataset.part, row: +frame.dataset.row }])
  );
  let zoomed = frames[0];
  let reached = frames[0];

  function draw() {
    const base = numbers.get(zoomed);
    for (const frame of frames) {
      const own = numbers.get(frame);
      const inside = own.at >= base.at - 1e-12 && own.at + own.part <= base.at + base.part + 1e-12;
      const around = own.row < base.row && own.at <= base.at + 1e-12 && own.at + own.part >= base.at + base.part - 1e-12;
      frame.hidden = !(inside && own.row >= base.row) && !around;
      frame.setAttribute("display", frame.hidden ? "none" : "inline");
      if (frame.hidden) continue;
      const x = around ? 0 : ((own.at - base.at) / base.part) * WIDTH;
      const width = around ? WIDTH : (own.part / base.part) * WIDTH;
      const [rect, text] = frame.querySelectorAll("rect, text");
      rect.setAttribute("x", x);
      rect.setAttribute("width", Math.max(width - 0.5, 0.2));
      text.setAttribute("x", x + 4);
      const room = Math.floor((width - 8) / LETTER);
      const label = frame.dataset.label;
      text.textContent = room < 4 ? "" : label.length > room ? `${label.slice(0, room - 1)}…` : label;
      frame.classList.toggle("around", around);
    }
  }

  // The tab key stops at one frame, the arrow keys go on from there.
  function reach(frame) {
    reached.setAttribute("tabindex", "-1");
    frame.setAttribute("tabindex", "0");
    reached = frame;
    frame.focus();
  }

  function zoom(frame) {
    zoomed = frame;
    draw();
    reach(frame);
  }

  // Part of the whole that frames with the text take; a frame inside another one counts once.
  function look() {
    const text = search.value.toLowerCase();
    let sum = 0;
    let until = -1;
    for (const frame of frames) frame.classList.remove("match");
    const hits = text ? frames.filter((frame) => frame.dataset.label.toLowerCase().includes(text)) : [];
    hits.forEach((frame) => frame.classList.add("match"));
    hits.sort((a, b) => numbers.get(a).at - numbers.get(b).at || numbers.get(a).row - numbers.get(b).row);
    for (const frame of hits) {
      const own = numbers.get(frame);
      const from = Math.max(own.at, until);
      if (own.at + own.part > from) sum += own.at + own.part - from;
      until = Math.max(until, own.at + own.part);
    }
    found.textContent = text ? `${(100 * sum).toFixed(1)} %` : "";
  }

  // The next shown frame in a direction of the arrow keys.
  function neighbour(frame, key) {
    const own = numbers.get(frame);
    const shown = frames.filter((other) => !other.hidden && other !== frame);
    const row = own.row + { ArrowUp: 1, ArrowDown: -1, ArrowLeft: 0, ArrowRight: 0 }[key];
    const there = shown.filter((other) => numbers.get(other).row === row);
    const middle = own.at + own.part / 2;
    if (key === "ArrowLeft") return there.filter((other) => numbers.get(other).at < own.at).pop();
    if (key === "ArrowRight") return there.find((other) => numbers.get(other).at > own.at);
    return (
      there.find((other) => numbers.get(other).at <= middle && numbers.get(other).at + numbers.get(other).part >= middle) ||
      there.find((other) => numbers.get(other).at >= own.at)
    );
  }

  graph.addEventListener("click", (event) => {
    const frame = event.target.closest("g");
    if (frame) zoom(frame);
  });
  box.addEventListener("keydown", (event) => {
    const frame = document.activeElement.closest("g");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") zoom(frames[0]);
    else if (event.key === "/" && document.activeElement !== search) search.focus();
    else if (frame && (event.key === "Enter" || event.key === " ")) zoom(frame);
    else if (frame && /^Arrow(Up|Down|Left|Right)$/.test(event.key)) reach(neighbour(frame, event.key) || frame);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  search.addEventListener("input", look);
  controls.querySelector("button").addEventListener("click", () => zoom(frames[0]));
  controls.hidden = false;
}
