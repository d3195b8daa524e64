// Selecting: one box for all, and a word about how many.

function tell() {
  const boxes = [...document.querySelectorAll("input[name=ids]")];
  const count = boxes.filter((box) => box.checked).length;
  const all = document.getElementById("select-all");
  if (all) {
    all.checked = count > 0 && count === boxes.length;
    all.indeterminate = count > 0 && count < boxes.length;
  }
  const words = document.getElementById("selected");
  if (words) words.textContent = count ? `${count} selected` : "Select emails to act on them";
  document.querySelectorAll("[data-selected-only]").forEach((button) => { button.disabled = count === 0; });
}

document.addEventListener("change", (event) => {
  if (event.target.id === "select-all") {
    document.querySelectorAll("input[name=ids]").forEach((box) => { box.checked = event.target.checked; });
  }
  if (event.target.matches("#select-all, input[name=ids]")) tell();
});
document.addEventListener("postroom:fresh", tell);
tell();
