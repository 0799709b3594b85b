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
  await drawAll();
  document.documentElement.dataset.ready = "true";
}

start().catch((error) => {
  const note = document.createElement("p");
  note.className = "note warning";
  note.textContent = `This browser cannot draw the heat maps and timelines or sort the tables (${error.message}); everything else is here.`;
  document.querySelector("main").prepend(note);
});
