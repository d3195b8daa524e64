// Makes the gallery live: frames as tall as what they show, keys, and a page that follows the files.
// Everything here can be done without it: the pages are plain links, frames and forms.

const gallery = () => document.getElementById("gallery");
document.querySelectorAll("[data-with-script]").forEach((element) => { element.hidden = false; });

// The address says what is shown, and not what was done: loading the page again does nothing twice.
if (gallery()?.dataset.here) history.replaceState(null, "", gallery().dataset.here);

// ---- Frames. What is in them runs no scripts; that it is of our origin lets us see how tall it is.

const TALLEST = 12000;

function fit(frame) {
  const page = frame.contentDocument?.documentElement;
  if (!page || !frame.closest(".stage")) return;
  frame.style.height = "0";
  const border = frame.offsetHeight - frame.clientHeight;
  frame.style.height = `${Math.min(Math.max(page.scrollHeight, 240) + border, TALLEST)}px`;
}

function prepare(frame) {
  frame.addEventListener("load", () => fit(frame));
  if (frame.contentDocument?.readyState === "complete") fit(frame);
}

const frames = () => [...document.querySelectorAll(".stage iframe")];
frames().forEach(prepare);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) frames().forEach(fit);
  width = innerWidth;
});

// ---- Following the files. The server answers when something has changed; then the page fetches itself anew.

const AGAIN = 1500; // milliseconds until the next try, when the server does not answer
let asking = null;

function say(words, state) {
  const watch = document.getElementById("watch");
  if (!watch || watch.textContent === words) return;
  watch.textContent = words;
  watch.dataset.state = state;
}

async function follow() {
  while (gallery()?.dataset.state && !document.hidden) {
    asking = new AbortController();
    try {
      const since = gallery().dataset.state;
      const asked = `${gallery().dataset.gallery}/changed?since=${encodeURIComponent(since)}`;
      const answer = await fetch(asked, { signal: asking.signal, cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      const { state } = await answer.json();
      say("Live: the page follows the files", "here");
      if (state !== since) await renew();
    } catch (error) {
      if (error.name === "AbortError") return;
      say("Not live: the server does not answer", "away");
      await new Promise((resolve) => { setTimeout(resolve, AGAIN); });
    }
  }
}

// A hidden page lets go of its connection: a browser has six of them for a host.
document.addEventListener("visibilitychange", () => (document.hidden ? asking?.abort() : follow()));

async function renew() {
  const answer = await fetch(location.href, { cache: "no-store", headers: { "X-Postroom-Refresh": "1" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const next = page.getElementById("gallery");
  if (!answer.ok || !next) throw new Error(String(answer.status));
  const typed = document.getElementById("to")?.value;
  await Promise.all(frames().map((frame) => redraw(frame, next)));
  const at = { x: scrollX, y: scrollY, focus: document.activeElement?.id };
  keepFrames(next);
  document.title = page.title;
  if (typed && document.getElementById("to")) document.getElementById("to").value = typed;
  if (at.focus) document.getElementById(at.focus)?.focus({ preventScroll: true });
  scrollTo(at.x, at.y);
}

// The frame keeps its height until the new page is there, so that nothing jumps.
function redraw(frame, next) {
  const fresh = next.querySelector(`#${frame.id}`);
  if (!fresh) return null;
  return new Promise((resolve) => {
    frame.addEventListener("load", () => { fit(frame); resolve(); }, { once: true });
    setTimeout(resolve, 3000);
    frame.contentWindow.location.replace(fresh.src);
  });
}

// Everything is replaced but the frames, which are up to date already and would be loaded again if they moved.
function keepFrames(next) {
  const here = gallery();
  const stage = here.querySelector(".stage");
  const fresh = next.querySelector(".stage");
  here.dataset.state = next.dataset.state;
  if (!stage || !fresh || stage.className !== fresh.className) {
    here.replaceWith(document.adoptNode(next));
    frames().forEach(prepare);
    return;
  }
  around(here, next, stage, fresh);
}

// Replace what stands beside the stage, on each level from the gallery down to it.
function around(old, next, stage, fresh) {
  const holder = [...old.children].find((each) => each.contains(stage));
  const twin = [...next.children].find((each) => each.contains(fresh));
  [...old.childNodes].forEach((each) => { if (each !== holder) each.remove(); });
  let before = true;
  [...next.childNodes].forEach((each) => {
    if (each === twin) before = false;
    else if (before) holder.before(document.adoptNode(each));
    else old.append(document.adoptNode(each));
  });
  if (holder !== stage) around(holder, twin, stage, fresh);
}

follow();

// ---- Keys: each is that of a link on the page. They can be switched off, as on the desk (WCAG 2.1.4).

const SWITCH = "postroom.keys";
const box = document.getElementById("gallery-keys");

function on() {
  try { return localStorage.getItem(SWITCH) !== "off"; } catch { return true; }
}

if (box) box.checked = on();
box?.addEventListener("change", () => {
  try { box.checked ? localStorage.removeItem(SWITCH) : localStorage.setItem(SWITCH, "off"); } catch { /* this page */ }
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || !on()) return;
  if (event.target.matches("input, textarea, select") || document.querySelector("dialog[open]")) return;
  if (event.key.startsWith("Arrow") && event.target.closest(".source, .plain, .scroll")) return;
  const link = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!link) return;
  event.preventDefault();
  link.click();
});
