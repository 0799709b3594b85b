// The portal: blocks of the report that come with a page or after it; the keys.
async function drawPart() {
  setUpCopying();
  setUpTitles();
  if (document.getElementById("data")) await drawAll();
  document.documentElement.dataset.ready = "true";
}

document.body.addEventListener("htmx:afterSwap", () => drawPart());
document.body.addEventListener("htmx:responseError", (event) => {
  const note = document.createElement("p");
  note.className = "note warning";
  note.textContent = "This part cannot be shown now.";
  event.detail.target.replaceChildren(note);
});

// "/" goes to the search, n and p to the next and the earlier page.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const found = document.querySelector({ "/": "input[type=search]", n: "a[rel=next]", p: "a[rel=prev]" }[event.key] || "none");
  if (!found) return;
  event.preventDefault();
  if (found.href) found.click();
  else found.focus();
});

// A group of the menu closes when the page is used on.
document.addEventListener("click", (event) => {
  document.querySelectorAll(".bar nav details[open]").forEach((group) => {
    if (!group.contains(event.target)) group.open = false;
  });
});

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
setUpHover();
if (document.querySelector("[hx-trigger=load]") === null) drawPart();
else setUpTitles();
