// Keys of the inbox. They never act while a person types, and decide only about the call that has the focus.

const TYPED = "input, textarea, select, [contenteditable]";

export function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape") return closeForm(event.target);
    if (event.target.closest(TYPED) || document.querySelector("dialog[open]")) return;
    const act = ACTS[event.key];
    if (!act || (event.repeat && "aed".includes(event.key))) return;
    if (act(document.activeElement?.closest("article.call")) !== false) event.preventDefault();
  });
  const hint = document.querySelector("[data-help]");
  if (hint) {
    hint.hidden = false;
    hint.addEventListener("click", help);
  }
}

export function neighbour(article, step) {
  const calls = [...document.querySelectorAll("article.call")];
  return calls[calls.indexOf(article) + step];
}

const ACTS = {
  j: (article) => go(article ? neighbour(article, 1) : document.querySelector("article.call")),
  k: (article) => go(article ? neighbour(article, -1) : [...document.querySelectorAll("article.call")].at(-1)),
  a: (article) => press(article?.querySelector("form[data-word=approve] button")),
  e: (article) => press(article?.querySelector("a[data-word=edit]")),
  d: (article) => open(article?.querySelector("details[data-word=deny]")),
  "?": () => help(),
};

function go(article) {
  if (!article) return false;
  article.focus({ preventScroll: true });
  article.scrollIntoView({ block: "nearest" });
}

function press(control) {
  if (!control || control.disabled) return false;
  control.click();
}

function open(details) {
  if (!details) return false;
  details.open = true;
  details.querySelector("textarea")?.focus();
}

function closeForm(target) {
  const details = target.closest?.("details.act[open]");
  if (!details) return;
  details.open = false;
  (details.closest("article.call") ?? details.querySelector("summary")).focus();
}

function help() {
  document.getElementById("help")?.showModal();
}
