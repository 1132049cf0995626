// Follows a decision from decided to performed.

import { part, steadily, tell } from "./parts.js";

const EVERY = 400;

export function startFollowing() {
  for (const node of document.querySelectorAll("[data-became]")) follow(node);
}

export async function follow(node) {
  tell(node.dataset.said);
  while (node.isConnected && node.dataset.became) {
    await new Promise((done) => setTimeout(done, EVERY));
    let fresh;
    try {
      fresh = await part(node.dataset.became);
    } catch {
      continue;
    }
    const next = fresh.nodes.find((each) => each.matches(".became"));
    if (!fresh.ok || !next) continue;
    if (next.dataset.said !== node.dataset.said) tell(next.dataset.said);
    await new Promise((done) => steadily(() => { node.replaceWith(next); done(); }));
    node = next;
  }
}
