// Live: ask for the same page again and put in place only the regions that differ.
//
// Nothing moves under a finger or a focus. While somebody points at a region, touches it, presses or copies something
// in it, or has the focus there, what is new waits, and a button says so. And after something has moved, no tap on it
// counts for a moment: the hand was on its way to what was there before.

const EVERY = 3000; // milliseconds between two looks
const REST = 4000; // … after which a hand that does not move is not at work any more
const SETTLING = 600; // … in which no tap counts after something has moved

export const typing = (element) => element?.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");

const live = document.getElementById("live");
const news = document.getElementById("news");
const regions = () => [...document.querySelectorAll("[data-live]")];

let looking = false;
let seen = ""; // names what was answered last: what has not changed is not sent again
let waiting = null; // what is new and was not put in place yet
let moved = -Infinity; // when a hand was last seen over a region

["pointermove", "pointerdown", "touchstart", "touchmove", "wheel"].forEach((kind) => {
  document.addEventListener(kind, (event) => {
    if (event.target.closest?.("[data-live]")) moved = performance.now();
  }, { passive: true });
});

async function look() {
  if (looking || document.hidden || document.querySelector("dialog[open]")) return;
  looking = true;
  try {
    const headers = { "X-Postroom-Refresh": "1", ...(seen && { "If-None-Match": seen }) };
    const answer = await fetch(location.href, { headers, redirect: "error", cache: "no-store" });
    if (answer.status !== 304) {
      if (!answer.ok) throw new Error(String(answer.status));
      seen = answer.headers.get("ETag") ?? "";
      waiting = new DOMParser().parseFromString(await answer.text(), "text/html");
    }
    if (waiting && !occupied()) show();
    offer();
    if (every) say("Live", "here");
  } catch {
    say("Not live: the server does not answer", "away");
  } finally {
    looking = false;
  }
}

// Somebody is at work in a region.
function occupied() {
  if (performance.now() - moved < REST) return true;
  if (document.activeElement?.closest("[data-live]") || document.querySelector("[data-live] :active")) return true;
  const picked = getSelection();
  return !picked.isCollapsed && regions().some((region) => region.contains(picked.anchorNode));
}

// Put in place what is new; the focus stays on what it was on.
export function show() {
  const fresh = waiting;
  if (!fresh) return;
  waiting = null;
  const changed = regions().filter((old) => differs(old, fresh.getElementById(old.id)));
  changed.forEach((old) => swap(old, fresh.getElementById(old.id)));
  offer();
  if (changed.length) document.dispatchEvent(new Event("postroom:fresh"));
  if (!fresh.querySelector("[data-live]")) finish();
}

// Only what people would miss is offered: that a minute has passed is no news.
function offer() {
  const missed = waiting && regions().some((old) => isNews(old, waiting.getElementById(old.id)));
  if (news) news.hidden = !missed;
}

news?.addEventListener("click", show);

function say(words, state) {
  if (!live || live.textContent === words) return;
  live.textContent = words;
  live.dataset.state = state;
}

// Nothing can happen any more to what this page is about. It says so: a mark that is gone says nothing.
function finish() {
  clearInterval(every);
  every = 0;
  document.removeEventListener("visibilitychange", look);
  say("Ended: there is no more news", "ended");
}

// The form's token is written in other words on every page.
const told = (element) => element.innerHTML.replace(/name="csrf" value="[0-9a-f]*"/g, "");
const timeless = (html) => html.replace(/<time [^>]*>[^<]*<\/time>/g, "");

// What a region showed when it came: what scripts and people did to it since is not news.
const asItCame = new WeakMap(regions().map((region) => [region, told(region)]));

const differs = (old, fresh) => Boolean(fresh) && asItCame.get(old) !== told(fresh);
const isNews = (old, fresh) => Boolean(fresh) && timeless(asItCame.get(old)) !== timeless(told(fresh));

function swap(old, fresh) {
  const active = document.activeElement;
  const place = old.contains(active) ? placeOf(active) : null;
  const chosen = new Set([...old.querySelectorAll("input[name=ids]:checked")].map((box) => box.value));
  const open = new Set([...old.querySelectorAll("details[open][id]")].map((each) => each.id));
  if (isNews(old, fresh)) settle();
  asItCame.set(old, told(fresh));
  old.replaceChildren(...fresh.childNodes);
  old.querySelectorAll("[data-needs-script]").forEach((element) => { element.hidden = false; });
  old.querySelectorAll("input[name=ids]").forEach((box) => { box.checked = chosen.has(box.value); });
  open.forEach((id) => { const each = document.getElementById(id); if (each) each.open = true; });
  if (place) (document.getElementById(place.id) ?? nearest(old, place.row))?.focus({ preventScroll: true });
}

// Where the focus is: on what, and in which row of a list.
function placeOf(element) {
  const row = element.closest("tr[data-email]");
  return { id: element.id, row: row ? [...row.parentElement.children].indexOf(row) : 0 };
}

// What stands where something was that is gone: in the same row, or the last.
function nearest(region, row) {
  const all = [...region.querySelectorAll("tr[data-email]")];
  return all[Math.min(row, all.length - 1)]?.querySelector("a") ?? region.querySelector("a, button");
}

let settled = 0;

function settle() {
  document.body.classList.add("settling");
  clearTimeout(settled);
  settled = setTimeout(() => document.body.classList.remove("settling"), SETTLING);
}

let every = 0;
if (!regions().length) {
  if (live) live.hidden = true;
} else {
  every = setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
}
