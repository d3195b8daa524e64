// Keys. They act on a marked row and on nothing else, and can be switched off (WCAG 2.1.4).
import { show, typing } from "./live.js";

const SWITCH = "postroom.keys"; // in this browser: "off" where somebody does not want them
const LEFT = "postroom.row"; // in this tab: the row that somebody acted on by keyboard

let at = null; // the id of the email the keys are on
let going = false;
let byKey = false; // whether the keyboard was used last, and not the pointer

const rows = () => [...document.querySelectorAll("tr[data-email]")];
const current = () => rows().find((row) => row.dataset.email === at);

function mark() {
  rows().forEach((row) => row.classList.toggle("at", row.dataset.email === at));
}

function goTo(row) {
  at = row.dataset.email;
  mark();
  row.querySelector("a").focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

function step(by) {
  const all = rows();
  if (!all.length) return;
  const place = all.findIndex((row) => row.dataset.email === at);
  goTo(all[Math.min(Math.max(place < 0 ? (by > 0 ? 0 : all.length - 1) : place + by, 0), all.length - 1)]);
}

function leave() {
  at = null;
  mark();
  document.activeElement?.blur();
}

const KEYS = {
  "/": () => document.getElementById("q")?.select(),
  j: () => step(1),
  k: () => step(-1),
  x: () => current()?.querySelector("input[name=ids]")?.click(),
  r: () => current()?.querySelector("[data-key=r]")?.click(),
  n: show,
  Escape: leave,
  "?": help,
};

// ---- Switched on or off. A browser that keeps nothing has them on.

const box = document.getElementById("keys-on");

function on() {
  try { return localStorage.getItem(SWITCH) !== "off"; } catch { return true; }
}

if (box) box.checked = on();
box?.addEventListener("change", () => {
  try { box.checked ? localStorage.removeItem(SWITCH) : localStorage.setItem(SWITCH, "off"); } catch { /* for this page */ }
});

const wanted = () => (box ? box.checked : on());

function help() {
  const dialog = document.getElementById("shortcuts");
  if (dialog && !dialog.open) dialog.showModal();
}

document.addEventListener("click", (event) => { if (event.target.closest("[data-help]")) help(); });

document.addEventListener("keydown", (event) => {
  byKey = true;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (typing(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (!wanted()) return;
  if (going) {
    going = false;
    const link = [...document.querySelectorAll("[data-go]")].find((each) => each.dataset.go === event.key);
    if (link) { event.preventDefault(); link.click(); return; }
  }
  if (event.key === "g") { going = true; return; }
  const act = KEYS[event.key];
  if (act) { event.preventDefault(); act(); }
});

// ---- Whoever acts by keyboard finds the focus in the same row afterwards, or in the one that took its place.

document.addEventListener("pointerdown", () => { byKey = false; });
document.addEventListener("postroom:fresh", mark);

document.addEventListener("submit", (event) => {
  const row = event.submitter?.closest("tr[data-email]");
  if (!row || !byKey) return;
  try { sessionStorage.setItem(LEFT, JSON.stringify([row.dataset.email, rows().indexOf(row)])); } catch { /* from the top */ }
});

function comeBack() {
  let left = null;
  try {
    left = JSON.parse(sessionStorage.getItem(LEFT));
    sessionStorage.removeItem(LEFT);
  } catch { /* from the top */ }
  const all = rows();
  if (!left || !all.length) return;
  goTo(all.find((row) => row.dataset.email === left[0]) ?? all[Math.min(left[1], all.length - 1)]);
}

if (rows().length) comeBack();
