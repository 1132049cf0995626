// Asks the server for a part of a page, and makes elements of it. Scripts in such a part never run.

export async function part(address, options = {}) {
  const headers = { "X-Part": "1", ...options.headers };
  const answer = await fetch(address, { cache: "no-store", credentials: "same-origin", ...options, headers });
  const text = answer.status === 204 ? "" : await answer.text();
  const { status, ok, headers: told } = answer;
  return { status, ok, version: told.get("X-Version"), speaks: told.has("X-Speaks"), nodes: parsed(text) };
}

function parsed(text) {
  return [...new DOMParser().parseFromString(text, "text/html").body.children];
}

// Makes a change while what has the focus stays where it is on the screen: at once, or when no button is held down any
// more, since a click is lost, or is another one's, if what is under it moves between press and release.
export function steadily(change) {
  if (performance.now() - pressedAt < HELD) held.push(change); else make(change);
}

function make(change) {
  const focused = document.activeElement?.closest("[data-call] *, [data-call], [data-key]");
  const before = focused?.getBoundingClientRect().top;
  change();
  if (focused?.isConnected) scrollBy({ top: focused.getBoundingClientRect().top - before, behavior: "instant" });
}

const HELD = 5000;
let pressedAt = -Infinity;
let held = [];

function release() {
  pressedAt = -Infinity;
  const changes = held;
  held = [];
  for (const change of changes) make(change);
}

addEventListener("pointerdown", () => {
  pressedAt = performance.now();
  setTimeout(() => { if (performance.now() - pressedAt >= HELD) release(); }, HELD + 50);
}, true);
for (const name of ["pointerup", "pointercancel"]) addEventListener(name, () => setTimeout(release), true); // after its click

export function tell(text) {
  const news = document.getElementById("news");
  if (news.textContent !== text) news.textContent = text;
}
