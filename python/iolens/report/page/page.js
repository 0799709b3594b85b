// The page: its data, the theme, the choice of a job, what is drawn when it comes into view.
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

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  document.getElementById("theme").value = theme;
  redraw();
}

function setUpTheme() {
  const select = document.getElementById("theme");
  select.closest("label").hidden = false;
  select.addEventListener("change", () => setTheme(select.value));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}

function showJob(number) {
  document.querySelectorAll("[data-job]").forEach((part) => {
    part.hidden = part.dataset.job !== String(number);
  });
  const select = document.getElementById("job-choice");
  if (select) select.value = String(number);
  redraw();
}

function setUpJobs() {
  const select = document.getElementById("job-choice");
  if (!select) return;
  select.addEventListener("change", () => showJob(select.value));
  // A link into a job that is not shown.
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const part = target && target.closest("[data-job]");
    if (part && part.hidden) {
      showJob(part.dataset.job);
      target.scrollIntoView();
    }
  };
  window.addEventListener("hashchange", follow);
  showJob(select.value);
  follow();
}

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
function setUpHover() {
  document.querySelectorAll("svg title").forEach((title) => {
    const part = title.parentElement;
    part.dataset.tip = title.textContent;
    title.remove();
  });
  document.addEventListener("mousemove", (event) => {
    const part = event.target.closest && event.target.closest("[data-tip]");
    if (part) tip.show(event, [part.dataset.tip]);
    else if (!event.target.closest || !event.target.closest("canvas")) tip.hide();
  });
}

// Which section is being read, in the list of sections.
function setUpContents() {
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.getAttribute("href").slice(1), a]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((link) => link.removeAttribute("aria-current"));
      const link = links.get(entry.target.id);
      if (link) link.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "0px 0px -70% 0px" });
  document.querySelectorAll("main section[id]").forEach((section) => seen.observe(section));
}

async function start() {
  setUpTheme();
  setUpJobs();
  setUpCopying();
  setUpContents();
  setUpHover();
  const data = await unpack("data");
  for (const [id, table] of Object.entries(data.tables)) new Sheet(document.getElementById(id), table);
  for (const [id, offsets] of Object.entries(data.offsets)) drawings.push(new OffsetChart(document.getElementById(id), offsets));
  for (const [id, heat] of Object.entries(data.heats)) drawings.push(new HeatMap(document.getElementById(id), heat));
  for (const [id, line] of Object.entries(data.timelines)) drawings.push(new TimelineChart(document.getElementById(id), line));
  drawings.forEach((one) => watcher.observe(one.canvas));
  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 100);
  });
  window.addEventListener("beforeprint", () => drawings.forEach((one) => one.draw()));
  document.documentElement.dataset.ready = "true";
}

start().catch((error) => {
  const note = document.createElement("p");
  note.className = "note warning";
  note.textContent = `This browser cannot draw the heat maps and timelines or sort the tables (${error.message}); everything else is here.`;
  document.querySelector("main").prepend(note);
});
