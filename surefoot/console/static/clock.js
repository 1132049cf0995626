// Keeps ages and countdowns going, in the words of console/words.py.

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"]];
const SOON = 300;

export function span(seconds) {
  for (const [place, [size, unit]] of UNITS.entries()) {
    if (seconds < size) continue;
    const [nextSize, nextUnit] = UNITS[place + 1] ?? [0, ""];
    const rest = nextSize ? Math.floor((seconds % size) / nextSize) : 0;
    const whole = `${Math.floor(seconds / size)} ${unit}`;
    return rest ? `${whole} ${rest} ${nextUnit}` : whole;
  }
  return `${seconds} s`;
}

function tick() {
  for (const time of document.querySelectorAll("time[data-clock]")) {
    const ahead = Math.floor((Date.parse(time.dateTime) - Date.now()) / 1000);
    const isAge = time.dataset.clock === "age";
    const words = isAge ? (ahead > -1 ? "just now" : `${span(-ahead)} ago`) : ahead < 1 ? "now" : `in ${span(ahead)}`;
    if (time.textContent !== words) time.textContent = words;
    if (!isAge) time.classList.toggle("soon", ahead < SOON);
  }
}

export function startClocks() {
  tick();
  setInterval(tick, 1000);
}
