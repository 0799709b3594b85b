// The page: the theme, the choice of a job, the list of sections.
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
  showJob(select.value);
}

// Where a link leads may be folded, or in a job that is not shown. Returns what it leads to.
function reveal(hash) {
  const target = document.getElementById(decodeURIComponent(hash.slice(1)));
  if (!target) return null;
  const job = target.closest("[data-job]");
  if (job && job.hidden) showJob(job.dataset.job);
  let fold = target.querySelector(":scope > .part") || target.closest("details");
  for (; fold; fold = fold.parentElement.closest("details")) fold.open = true;
  return target;
}

function follow() {
  const target = location.hash.length > 1 && reveal(location.hash);
  if (target) target.scrollIntoView();
}

function setUpLinks() {
  // Before the browser goes there itself.
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#"]');
    if (link) reveal(link.getAttribute("href"));
  });
  window.addEventListener("hashchange", follow);
}

// On a narrow screen the answer comes first, and the contents at a click.
function setUpMenu() {
  const menu = document.querySelector(".menu");
  const narrow = matchMedia("(max-width: 60rem)");
  const fit = () => {
    menu.open = !narrow.matches;
  };
  narrow.addEventListener("change", fit);
  menu.addEventListener("click", (event) => {
    if (narrow.matches && event.target.closest("a")) menu.open = false;
  });
  fit();
}

// Paper has nothing to click: folded findings are opened for it.
function setUpPrinting() {
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll(".finding:not([open]), .quiet:not([open]), .command:not([open])")];
    opened.forEach((fold) => {
      fold.open = true;
    });
    redraw();
  });
  window.addEventListener("afterprint", () => opened.forEach((fold) => {
    fold.open = false;
  }));
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
  setUpMenu();
  setUpTheme();
  setUpJobs();
  setUpLinks();
  setUpCopying();
  setUpContents();
  setUpHover();
  setUpPrinting();
  await drawAll();
  follow();
  document.documentElement.dataset.ready = "true";
}

start().catch((error) => {
  const note = document.createElement("p");
  note.className = "note warning";
  note.textContent = `This browser cannot draw the heat maps and timelines or sort the tables (${error.message}); everything else is here.`;
  document.querySelector("main").prepend(note);
});
