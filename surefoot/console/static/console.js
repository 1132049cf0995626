// What the pages can do beyond plain links and forms. Without this script they all work, and stand still.

import { startClocks } from "./clock.js";
import { startDeciding } from "./deciding.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startReading } from "./reading.js";
import { startFollowing } from "./became.js";
import { startSaying } from "./saying.js";

for (const select of document.querySelectorAll("select[data-go]")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}

// Whoever types a value means it to be sent.
for (const presence of document.querySelectorAll("select[data-presence]")) {
  document.getElementById(presence.dataset.presence).addEventListener("input", () => { presence.value = "given"; });
}

// "toggle" does not bubble, so it is caught on its way down.
document.addEventListener("toggle", (event) => {
  if (event.target.open && event.target.matches("details.act")) {
    event.target.querySelector("textarea, input:not([type=hidden])")?.focus();
  }
}, true);

startClocks();
startReading();
startKeys();
startDeciding();
startFollowing();
startLive();
startSaying();
