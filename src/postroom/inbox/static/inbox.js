// New mail appears by itself: once a second the page asks whether anything has changed, and if so fetches itself anew.
// Polling, not a stream: a browser keeps six connections to a host, and seven open tabs would starve each other.
"use strict";

const body = document.body;
const live = document.getElementById("live");
const PARTS = ["mail", "count", "foot", "chaos", "trouble"];
const EVERY = 1000;

async function look() {
  if (document.hidden) return;
  try {
    const { changes } = await (await fetch("/api/inbox/state")).json();
    live.dataset.state = "here";
    live.textContent = "Live";
    if (String(changes) !== body.dataset.changes) await refresh();
  } catch {
    live.dataset.state = "away";
    live.textContent = "The inbox does not answer";
  }
}

async function refresh() {
  const answer = await fetch(location.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const known = ids(document);
  for (const name of PARTS) {
    const now = document.getElementById(name);
    const next = page.getElementById(name);
    // What somebody is pressing at this moment stays under their finger.
    if (now && next && !now.contains(document.activeElement)) now.replaceWith(next);
    else if (now && next && name === "mail") keepFocus(now, next);
  }
  for (const item of document.querySelectorAll("#mail li")) {
    item.classList.toggle("new", !known.has(item.dataset.id));
  }
  document.title = page.title;
  body.dataset.changes = page.body.dataset.changes;
}

function keepFocus(now, next) {
  const address = document.activeElement.getAttribute("href");
  now.replaceWith(next);
  next.querySelector(`a[href="${CSS.escape(address ?? "")}"]`)?.focus();
}

function ids(page) {
  return new Set([...page.querySelectorAll("#mail li")].map((item) => item.dataset.id));
}

function ago() {
  const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  for (const time of document.querySelectorAll("time[datetime]")) {
    const seconds = Math.round((Date.now() - Date.parse(time.dateTime)) / 1000);
    const [unit, length] = units.find(([, each]) => seconds >= each) ?? ["", 0];
    const number = Math.floor(seconds / length);
    time.textContent = length ? `${number} ${unit}${number === 1 ? "" : "s"} ago` : "now";
  }
}

if ("live" in body.dataset) {
  live.hidden = false;
  setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
}
setInterval(ago, EVERY);

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input, textarea")) return;
  event.preventDefault();
  document.getElementById("q").focus();
});
