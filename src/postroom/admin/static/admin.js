// Makes the pages livelier. Everything here can be done without it: the pages are plain links and forms.
"use strict";

const EVERY = 3000; // milliseconds between two looks
const typing = (element) => element && element.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");

document.querySelectorAll("[data-needs-script]").forEach((element) => { element.hidden = false; });

// A notice is news once: a reload, or a copied address, does not repeat it.
const here = new URL(location.href);
if (here.searchParams.has("notice")) {
  here.searchParams.delete("notice");
  here.searchParams.delete("count");
  here.searchParams.delete("left");
  history.replaceState(null, "", here);
}

// ---- Live: ask for the same page again and put in place only the regions that differ.

const live = document.getElementById("live");
let looking = false;

async function look() {
  if (looking || document.hidden || document.querySelector("dialog[open]")) return;
  looking = true;
  try {
    const answer = await fetch(location.href, { headers: { "X-Postroom-Refresh": "1" }, redirect: "error" });
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.querySelectorAll("[data-live]").forEach((old) => swap(old, fresh.getElementById(old.id)));
    say("Live");
  } catch {
    say("Not live: the server does not answer");
  } finally {
    looking = false;
  }
}

function say(words) {
  if (!live || live.textContent === words) return;
  live.textContent = words;
  live.dataset.state = words === "Live" ? "here" : "away";
}

function swap(old, fresh) {
  if (!fresh || old.dataset.shown === fresh.innerHTML) return;
  if (!old.dataset.shown && old.innerHTML === fresh.innerHTML) return;
  const active = document.activeElement;
  if (old.contains(active) && typing(active)) return; // somebody writes here
  const picked = getSelection();
  if (!picked.isCollapsed && old.contains(picked.anchorNode)) return; // … copies from here
  if (old.querySelector(":active")) return; // … presses something here
  const chosen = new Set([...old.querySelectorAll("input[name=ids]:checked")].map((box) => box.value));
  const open = new Set([...old.querySelectorAll("details[open][id]")].map((each) => each.id));
  const focus = old.contains(active) ? active.id : "";
  const source = fresh.innerHTML;
  old.replaceChildren(...fresh.childNodes);
  old.dataset.shown = source;
  old.querySelectorAll("[data-needs-script]").forEach((element) => { element.hidden = false; });
  old.querySelectorAll("input[name=ids]").forEach((box) => { box.checked = chosen.has(box.value); });
  open.forEach((id) => { const each = document.getElementById(id); if (each) each.open = true; });
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  mark();
  tell();
}

if (!document.querySelector("[data-live]")) {
  if (live) live.hidden = true;
} else {
  setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
}

// ---- Selecting: one box for all, and a word about how many.

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
tell();

// ---- Keys.

let at = null; // the id of the email the keys are on
let going = false;

const rows = () => [...document.querySelectorAll("tr[data-email]")];

function mark() {
  rows().forEach((row) => row.classList.toggle("at", row.dataset.email === at));
}

function step(by) {
  const all = rows();
  if (!all.length) return;
  const place = all.findIndex((row) => row.dataset.email === at);
  const next = all[Math.min(Math.max(place < 0 ? (by > 0 ? 0 : all.length - 1) : place + by, 0), all.length - 1)];
  at = next.dataset.email;
  mark();
  next.querySelector("a").focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

const current = () => rows().find((row) => row.dataset.email === at);

const KEYS = {
  "/": () => document.getElementById("q")?.select(),
  j: () => step(1),
  k: () => step(-1),
  x: () => { const box = current()?.querySelector("input[name=ids]"); if (box) { box.click(); } },
  r: () => retry(),
  "?": () => help(),
};

function retry() {
  const chosen = document.querySelector("input[name=ids]:checked");
  const button = chosen
    ? document.getElementById("retry-selected")
    : (current() || document).querySelector("[data-key=r]");
  button?.click();
}

function help() {
  const dialog = document.getElementById("shortcuts");
  if (dialog && !dialog.open) dialog.showModal();
}

document.addEventListener("click", (event) => { if (event.target.closest("[data-help]")) help(); });

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (typing(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (going) {
    going = false;
    const link = [...document.querySelectorAll("[data-go]")].find((each) => each.dataset.go === event.key);
    if (link) { event.preventDefault(); link.click(); return; }
  }
  if (event.key === "g") { going = true; return; }
  const act = KEYS[event.key];
  if (act) { event.preventDefault(); act(); }
});
