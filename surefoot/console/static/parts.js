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

// Makes a change while what has the focus stays where it is on the screen.
export function steadily(change) {
  const focused = document.activeElement?.closest("[data-call], [data-key]");
  const before = focused?.getBoundingClientRect().top;
  change();
  if (focused?.isConnected) scrollBy({ top: focused.getBoundingClientRect().top - before, behavior: "instant" });
}

export function tell(text) {
  const news = document.getElementById("news");
  if (news.textContent !== text) news.textContent = text;
}
