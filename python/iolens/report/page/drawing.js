// The blocks of a page: their data, what is drawn when it comes into view, what copies and what tells.
const drawings = [];

async function unpack(id) {
  const text = document.getElementById(id).textContent.trim();
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function redraw() {
  for (const one of drawings) if (one.canvas.clientWidth) one.draw();
}

// A drawing in a hidden job has no width: it is drawn when it is first seen.
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    watcher.unobserve(entry.target);
    const one = drawings.find((d) => d.canvas === entry.target);
    if (one) one.draw();
  }
}, { rootMargin: "400px" });

function setUpCopying() {
  document.querySelectorAll("pre.snippet").forEach((pre) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy the snippet");
    button.addEventListener("click", async () => {
      const range = document.createRange();
      range.selectNodeContents(pre.querySelector("code"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      try {
        await navigator.clipboard.writeText(pre.querySelector("code").textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Selected";
      }
    });
    pre.append(button);
  });
}

// What a bar or a cell says, at once and in the page's own tooltip.
function setUpTitles() {
  document.querySelectorAll("svg title").forEach((title) => {
    const part = title.parentElement;
    part.dataset.tip = title.textContent;
    title.remove();
  });
}

function setUpHover() {
  setUpTitles();
  document.addEventListener("mousemove", (event) => {
    const part = event.target.closest && event.target.closest("[data-tip]");
    if (part) tip.show(event, [part.dataset.tip]);
    else if (!event.target.closest || !event.target.closest("canvas")) tip.hide();
  });
}

// Everything that the page's data says.
async function drawAll() {
  document.querySelectorAll("figure.flame").forEach(setUpFlame);
  const data = await unpack("data");
  for (const [id, table] of Object.entries(data.tables)) new Sheet(document.getElementById(id), table);
  for (const [id, offsets] of Object.entries(data.offsets)) drawings.push(new OffsetChart(document.getElementById(id), offsets));
  for (const [id, heat] of Object.entries(data.heats)) drawings.push(new HeatMap(document.getElementById(id), heat));
  for (const [id, line] of Object.entries(data.timelines)) drawings.push(new TimelineChart(document.getElementById(id), line));
  drawings.forEach((one) => watcher.observe(one.canvas));
}

let waiting = 0;
window.addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(redraw, 100);
});
