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
let seen = ""; // names what was answered last: what has not changed is not sent again

async function look() {
  if (looking || document.hidden || document.querySelector("dialog[open]")) return;
  looking = true;
  try {
    const headers = { "X-Postroom-Refresh": "1", ...(seen && { "If-None-Match": seen }) };
    const answer = await fetch(location.href, { headers, redirect: "error", cache: "no-store" });
    if (answer.status === 304) return say("Live");
    if (!answer.ok) throw new Error(String(answer.status));
    seen = answer.headers.get("ETag") ?? "";
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const regions = [...document.querySelectorAll("[data-live]")];
    // What could not be put in place just now is asked for again.
    if (!regions.map((old) => swap(old, fresh.getElementById(old.id))).every(Boolean)) seen = "";
    else if (!fresh.querySelector("[data-live]")) return finish();
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

// Nothing can happen any more to what this page is about.
function finish() {
  clearInterval(every);
  document.removeEventListener("visibilitychange", look);
  if (live) live.hidden = true;
}

// The form's token is written in other words on every page.
const told = (element) => element.innerHTML.replace(/name="csrf" value="[0-9a-f]*"/g, "");

// Whether the region is now as it should be.
function swap(old, fresh) {
  if (!fresh || old.dataset.shown === told(fresh)) return true;
  if (!old.dataset.shown && told(old) === told(fresh)) return true;
  const active = document.activeElement;
  if (old.contains(active) && typing(active)) return false; // somebody writes here
  const picked = getSelection();
  if (!picked.isCollapsed && old.contains(picked.anchorNode)) return false; // … copies from here
  if (old.querySelector(":active")) return false; // … presses something here
  const chosen = new Set([...old.querySelectorAll("input[name=ids]:checked")].map((box) => box.value));
  const open = new Set([...old.querySelectorAll("details[open][id]")].map((each) => each.id));
  const focus = old.contains(active) ? active.id : "";
  const source = told(fresh);
  old.replaceChildren(...fresh.childNodes);
  old.dataset.shown = source;
  old.querySelectorAll("[data-needs-script]").forEach((element) => { element.hidden = false; });
  old.querySelectorAll("input[name=ids]").forEach((box) => { box.checked = chosen.has(box.value); });
  open.forEach((id) => { const each = document.getElementById(id); if (each) each.open = true; });
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  mark();
  tell();
  return true;
}

let every = 0;
if (!document.querySelector("[data-live]")) {
  if (live) live.hidden = true;
} else {
  every = setInterval(look, EVERY);
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
