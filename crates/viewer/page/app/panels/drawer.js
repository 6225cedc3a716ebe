// The drawer below the picture: opened, closed, and made higher or lower by dragging or by keys.

import { button, h } from "./dom.js";

const KEY = "meshlock-diagram";

/**
 * @param {HTMLElement} element
 * @param {string} name
 * @returns {{ bar: HTMLElement, room: HTMLElement }}
 */
export function drawer(element, name) {
  const kept = read();
  let height = kept?.height ?? 230;
  // Most of the window is for the picture, until the reader wants it otherwise.
  let open = kept?.open ?? false;
  const toggle = button("", () => choose(!open, height), { class: "toggle", "aria-controls": "drawer" });
  const bar = h("div", { class: "drawer-bar" }, toggle);
  const room = h("div", {
    id: "drawer",
    class: "diagram",
    role: "group",
    "aria-label": `${name}: the diagram`,
    tabindex: 0,
  });
  const grip = h("div", {
    class: "grip",
    role: "separator",
    tabindex: 0,
    "aria-orientation": "horizontal",
    "aria-label": `Height of ${name}`,
  });
  element.append(grip, bar, room);

  /** @param {boolean} nowOpen @param {number} nowHeight */
  function set(nowOpen, nowHeight) {
    open = nowOpen;
    height = Math.round(Math.min(window.innerHeight * 0.7, Math.max(90, nowHeight)));
    toggle.textContent = `${open ? "▾" : "▸"} ${name}`;
    toggle.setAttribute("aria-expanded", String(open));
    grip.setAttribute("aria-valuenow", String(height));
    grip.hidden = !open;
    room.hidden = !open;
    room.style.height = `${height}px`;
    for (const one of bar.children) if (one !== toggle && one instanceof HTMLElement) one.hidden = !open;
    if (open) room.dispatchEvent(new Event("shown"));
  }
  /** @param {boolean} nowOpen @param {number} nowHeight */
  function choose(nowOpen, nowHeight) {
    set(nowOpen, nowHeight);
    write({ open, height });
  }
  grip.addEventListener("pointerdown", (event) => {
    const [start, from] = [event.clientY, height];
    grip.setPointerCapture(event.pointerId);
    const move = (/** @type {PointerEvent} */ moved) => choose(true, from + start - moved.clientY);
    grip.addEventListener("pointermove", move);
    grip.addEventListener("lostpointercapture", () => grip.removeEventListener("pointermove", move), { once: true });
  });
  grip.addEventListener("keydown", (event) => {
    const by = { ArrowUp: 24, ArrowDown: -24 }[event.key];
    if (by === undefined) return;
    choose(true, height + by);
    event.preventDefault();
  });
  // After the caller has put more into the bar.
  queueMicrotask(() => set(open, height));
  return { bar, room };
}

/** @returns {{ open: boolean, height: number } | null} */
function read() {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "null");
  } catch {
    return null;
  }
}

/** @param {{ open: boolean, height: number }} state */
function write(state) {
  try {
    localStorage.setItem(KEY, JSON.stringify(state));
  } catch {
    // Without storage it lasts as long as the page.
  }
}
