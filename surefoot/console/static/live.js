// Brings what is new into [data-live] containers, child by child, and leaves alone what a person is at work on.
//
// Children are known by data-key. One is replaced only if the server's text for it has changed; what it looks like by
// now (unfolded, counted down) is not compared. Elements without a key are this page's own and stay.

import { part, steadily, tell } from "./parts.js";
import { readLater } from "./reading.js";

const EVERY = 2000;
const LOST = "The server does not answer; trying again.";
const GONE = "This does not wait any more, at least not as shown.";
const served = new WeakMap();
let now = async () => {};

export function refresh() {
  return now();
}

// A child that came another way than by an update.
export function adopt(child) {
  served.set(child, print(child));
}

export function startLive() {
  const container = document.querySelector("[data-live]");
  if (!container) return;
  for (const child of keyed(container)) adopt(child);
  let asking = null;
  now = () => (asking ??= update(container).finally(() => { asking = null; }));
  setInterval(() => { if (!document.hidden) now(); }, EVERY);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) now(); });
}

async function update(container) {
  let fresh;
  try {
    fresh = await part(container.dataset.live, { headers: { "X-Version": container.dataset.version } });
  } catch {
    return tell(LOST);
  }
  if (!fresh.ok) {
    return tell(fresh.status === 401 ? "Your session has ended: sign in again in another tab." : fresh.nodes[0]?.textContent ?? LOST);
  }
  if (document.getElementById("news").textContent === LOST) tell("");
  container.dispatchEvent(new CustomEvent("updated", { detail: fresh }));
  if (fresh.status === 204) return;
  container.dataset.version = fresh.version;
  steadily(() => settle(container, fresh.nodes.filter((node) => node.dataset.key)));
}

function settle(container, fresh) {
  const present = new Map(keyed(container).map((child) => [child.dataset.key, child]));
  let last = null;
  for (const node of fresh) {
    const old = present.get(node.dataset.key);
    present.delete(node.dataset.key);
    last = old ? exchange(old, node) : insert(container, node, last);
  }
  for (const gone of present.values()) leave(gone, container);
}

function exchange(old, node) {
  const text = print(node);
  if (served.get(old) === text) return old;
  if (isBusy(old)) {
    mark(old, "This has changed while you typed.");
    return old;
  }
  const focused = old.contains(document.activeElement) ? document.activeElement.closest("[data-call]")?.dataset.call : null;
  unfoldAlike(old, node);
  served.set(node, text);
  old.replaceWith(node);
  readLater(node);
  if (focused) node.querySelector(`[data-call="${focused}"]`)?.focus({ preventScroll: true });
  return node;
}

function insert(container, node, last) {
  adopt(node);
  if (last) last.after(node); else container.prepend(node);
  readLater(node);
  return node;
}

function leave(gone, container) {
  if (isBusy(gone)) return mark(gone, GONE);
  if (wouldMove(gone)) {
    gone.classList.add("gone");
    gone.inert = true;
    container.dataset.version = ""; // it goes as soon as it can
    return;
  }
  const next = gone.contains(document.activeElement) ? gone.nextElementSibling?.querySelector("[data-call]") : null;
  gone.remove();
  next?.focus({ preventScroll: true });
}

// A person is typing in it, or has typed, or what was typed is on its way.
function isBusy(node) {
  if (node.querySelector("[data-sending]")) return true;
  const fields = [...node.querySelectorAll("textarea, input:not([type=hidden]), select")];
  return fields.some((field) => field === document.activeElement || changed(field));
}

// What stands above the focus goes only if the page can scroll as far as the rest moves up.
function wouldMove(gone) {
  const focused = document.activeElement?.closest("[data-key]");
  const isAbove = focused && gone.compareDocumentPosition(focused) & Node.DOCUMENT_POSITION_FOLLOWING;
  return isAbove && scrollY < gone.getBoundingClientRect().height + 32;
}

function changed(field) {
  if (field.matches("select")) return [...field.options].some((each) => each.selected !== each.defaultSelected);
  return field.value !== field.defaultValue;
}

function mark(node, text) {
  if (node.querySelector(":scope > .stale")) return;
  const note = document.createElement("p");
  note.className = "stale warn";
  note.textContent = text;
  node.prepend(note);
  tell(text);
}

function unfoldAlike(old, node) {
  for (const open of old.querySelectorAll("details[open][data-keep]")) {
    const same = [...node.querySelectorAll("details[data-keep]")].find((each) => each.dataset.keep === open.dataset.keep);
    if (same) same.open = true;
  }
}

function keyed(container) {
  return [...container.children].filter((child) => child.dataset.key);
}

function print(node) {
  const copy = node.cloneNode(true);
  for (const time of copy.querySelectorAll("time[data-clock]")) time.textContent = "";
  for (const once of copy.querySelectorAll("input[name=id]")) once.remove(); // another each time, and no news
  return copy.outerHTML;
}
