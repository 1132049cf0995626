// Fetches what was read before a call when its card comes into view: not before, since each costs the job a question.

import { part, steadily } from "./parts.js";

let seen = null;

export function readLater(node) {
  for (const place of node.querySelectorAll("[data-lazy]")) seen?.observe(place);
}

export function startReading() {
  seen = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((each) => each.isIntersecting)) {
      seen.unobserve(entry.target);
      fill(entry.target);
    }
  }, { rootMargin: "200px" });
  readLater(document);
}

async function fill(place) {
  try {
    const fresh = await part(place.dataset.lazy);
    if (fresh.ok) steadily(() => place.replaceChildren(...fresh.nodes));
  } catch {
    // The link to the same stays in its place.
  }
}
