// What opens and closes a part of the contents is an arrow, which says nothing to those who do not see it.
document.addEventListener("DOMContentLoaded", () => {
  for (const arrow of document.querySelectorAll("summary > .toctree-toggle")) {
    const link = arrow.closest("li").querySelector("a");
    arrow.parentElement.setAttribute("aria-label", `Pages below ${link ? link.textContent.trim() : "this"}`);
  }
});
