// Makes the pages livelier. Everything here can be done without it: the pages are plain links and forms.
import "./live.js";
import "./selecting.js";
import "./keys.js";

document.querySelectorAll("[data-needs-script]").forEach((element) => { element.hidden = false; });

// A notice is news once: a reload, or a copied address, does not repeat it.
const here = new URL(location.href);
if (here.searchParams.has("notice")) {
  ["notice", "count", "left", "undo"].forEach((name) => here.searchParams.delete(name));
  history.replaceState(null, "", here);
}
