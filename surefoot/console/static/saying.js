// Shows what a job's model is just saying, below its timeline, until the turn itself is there.
//
// Whatever the model said reaches the page as text alone. It asks only while a model is asked.

import { refresh } from "./live.js";
import { part } from "./parts.js";

const SPEAKING = 500;
const SILENT = 1000;
let following = false;

export function startSaying() {
  const place = document.querySelector("[data-saying]");
  if (!place) return;
  place.closest("[data-live]").addEventListener("updated", ({ detail }) => {
    if (detail.speaks) follow(place);
    else if (!following) place.replaceChildren(); // the tab was hidden when the call ended
  });
  if (place.firstElementChild) follow(place);
}

async function follow(place) {
  if (following) return;
  following = true;
  while (!document.hidden && (await look(place))) {
    const said = place.querySelector("[data-kind]") !== null;
    await new Promise((done) => setTimeout(done, said ? SPEAKING : SILENT));
  }
  following = false;
}

// Whether the call goes on. One that ended leaves its place to the turn.
async function look(place) {
  const old = place.firstElementChild;
  const heard = old ? `&${new URLSearchParams({ call: old.dataset.call, attempt: old.dataset.attempt, end: old.dataset.end })}` : "";
  let fresh;
  try {
    fresh = await part(place.dataset.saying + heard);
  } catch {
    return true;
  }
  const next = fresh.nodes.find((node) => node.matches(".making"));
  if (!fresh.ok) return false;
  if (next) {
    show(place, old, next);
    return true;
  }
  await refresh();
  place.replaceChildren();
  return false;
}

function show(place, old, next) {
  const goesOn = old && old.dataset.call === next.dataset.call && old.dataset.attempt === next.dataset.attempt;
  if (!goesOn) return place.replaceChildren(next);
  old.dataset.end = next.dataset.end;
  old.querySelector("header").replaceWith(next.querySelector("header"));
  const words = old.querySelector(".words");
  for (const span of next.querySelectorAll("[data-kind]")) {
    const last = words.lastElementChild;
    const joins = last?.dataset.kind === span.dataset.kind && span.dataset.kind !== "call";
    if (joins) last.append(span.textContent); else words.append(span);
  }
}
