// Sends the forms of a card without leaving the page, each once, and shows in their place what became of them.

import { follow } from "./became.js";
import { adopt, refresh } from "./live.js";
import { part } from "./parts.js";
import { neighbour } from "./keys.js";

const SHOWN = 5;

export function startDeciding() {
  document.addEventListener("submit", (event) => {
    const article = event.target.closest("article.call");
    if (!article) return;
    event.preventDefault();
    if (!article.dataset.sending) send(article, event.target, event.submitter);
  });
}

async function send(article, form, button) {
  const body = new URLSearchParams(new FormData(form, button));
  article.dataset.sending = "1";
  setButtons(article, true);
  let answer = null;
  try {
    answer = await part(form.action, { method: "POST", body });
  } catch {
    complain(article, "No answer came. It is safe to try again: a decision is taken once.");
  }
  delete article.dataset.sending;
  setButtons(article, false);
  if (answer) take(article, answer);
  refresh();
}

function take(article, answer) {
  const became = answer.nodes.find((node) => node.matches(".became"));
  const card = answer.nodes.find((node) => node.matches("section.card"));
  if (became) return settle(article, became);
  if (card) {
    adopt(card);
    article.closest("section.card").replaceWith(card);
    const again = card.querySelector("article");
    complain(again, answer.nodes.find((node) => node.matches(".alert")).textContent);
    return again.focus();
  }
  complain(article, answer.nodes[0]?.textContent ?? `The server answered ${answer.status}.`);
}

// The call goes, and a line stays in its place; the next call is at hand.
function settle(article, became) {
  const card = article.closest("section.card");
  const line = document.createElement("section");
  line.className = "card just";
  line.setAttribute("aria-label", "Decided");
  line.append(became);
  const next = neighbour(article, 1) ?? neighbour(article, -1);
  card.before(line);
  article.remove();
  if (!card.querySelector("article.call")) card.remove();
  next?.focus({ preventScroll: true });
  follow(became);
  const lines = [...document.querySelectorAll("#cards > .just")];
  for (const old of lines.slice(0, -SHOWN)) if (!old.querySelector("[data-became]:not([data-became=''])")) old.remove();
}

function complain(article, text) {
  article.querySelector(":scope > .alert")?.remove();
  const note = document.createElement("p");
  note.className = "alert";
  note.setAttribute("role", "alert");
  note.textContent = text;
  article.prepend(note);
}

function setButtons(article, off) {
  for (const button of article.querySelectorAll("button")) button.disabled = off;
}
