// A live simulation: run and pause the simulation itself, how fast it goes, and what the world is like. Folded away, but
// for how fast it goes.

/** @import { Action, Viewer } from "../types.d.ts" */

import { button, fill, h } from "./dom.js";
import { significant } from "./format.js";
import { command } from "./notices.js";

/** Sliders go by powers of ten: fine where small, coarse where large. */
const SLIDERS = /** @type {const} */ ({
  speed: { name: "Simulated speed", least: -2, most: 2, title: "Simulated seconds per second" },
  pace: { name: "Nodes move", least: -1, most: 1, title: "How many times as fast as the scenario says nodes move" },
});

/** @param {Viewer} viewer @returns {HTMLElement | null} */
export function live(viewer) {
  const can = (/** @type {Action["do"]} */ what) => viewer.about.can.includes(what);
  if (!can("play") && !can("range") && !can("pace")) return null;
  const act = (/** @type {Action} */ action) => viewer.act(action).catch(() => {});
  const run = button("Run", () => act({ do: viewer.live?.paused ? "play" : "pause" }));
  const step = button("One event", () => act({ do: "step", events: 1 }), { title: "One event of the simulation" });
  const state = h("span", { class: "muted" });
  const speed = slider(SLIDERS.speed, (factor) => act({ do: "speed", factor }));
  const pace = slider(SLIDERS.pace, (factor) => act({ do: "pace", factor }));
  const range = rangeSlider((metres) => act({ do: "range", metres }));
  const replay = h("div", { class: "command" });
  const name = can("play") ? "Simulation" : "Field";
  const summary = h("summary", { title: "Settings of what is shown" }, name);
  const group = h(
    "div",
    { class: "live", role: "group", "aria-label": "The simulation" },
    can("play") && run,
    can("step") && step,
    can("play") && state,
    can("speed") && speed.label,
    can("range") && range.label,
    can("pace") && pace.label,
    replay,
  );
  const whole = h("details", { class: "settings" }, summary, group);
  // Like a menu: it goes when one goes on.
  document.addEventListener("pointerdown", ({ target }) => {
    if (!whole.contains(/** @type {Node} */ (target))) whole.open = false;
  });
  whole.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !whole.open) return;
    event.stopPropagation();
    whole.open = false;
    summary.focus();
  });

  let shown = "";
  function draw() {
    const { live } = viewer;
    whole.hidden = live === null;
    if (!live) return;
    const words = !can("play") ? name : `${name} ${live.paused ? "paused" : `×${significant(live.speed, 2)}`}`;
    if (summary.textContent !== words) summary.textContent = words;
    run.textContent = live.paused ? "Run" : "Pause";
    step.disabled = !live.paused;
    state.textContent = stateWords(live, viewer.realSpeed);
    speed.show(live.speed, `×${significant(live.speed, 2)}`);
    pace.show(live.pace, `×${significant(live.pace, 2)}`);
    range.label.hidden = live.range === null;
    range.show(live.range ?? 0);
    if (shown === live.replay) return;
    shown = live.replay ?? "";
    fill(replay, live.replay ? ["again:", command(live.replay)] : []);
  }
  viewer.on("transport", draw);
  draw();
  return whole;
}

/** Slower than this part of the speed that was asked for is worth telling. */
const SLOWER = 0.7;

/**
 * @param {import("../types.d.ts").Playing} live
 * @param {number | null} real how fast it really goes
 */
export function stateWords(live, real) {
  if (live.paused) return "paused";
  // Clients of the scenario ask no more, but nodes move on, and one can still take part.
  const words = live.over ? "running on, the scenario is over" : "running";
  if (real === null || real > live.speed * SLOWER) return words;
  const slow = real < 0.001 ? "nearly to a standstill" : `to ×${significant(real, 2)}`;
  return `${words}, slowed down ${slow}: more happens than can be shown`;
}

/**
 * @param {{ name: string, least: number, most: number, title: string }} kind
 * @param {(value: number) => void} set
 */
function slider({ name, least, most, title }, set) {
  const input = h("input", { type: "range", min: least, max: most, step: 0.05, "aria-label": name });
  const output = h("output", {});
  const value = () => Number(significant(10 ** Number(input.value), 2));
  const held = steer(
    input,
    () => set(value()),
    () => {
      output.textContent = `×${value()}, Enter sets it`;
    },
  );
  const show = (/** @type {number} */ value, /** @type {string} */ words) => {
    if (held()) return;
    input.value = String(Math.log10(Math.max(value, 1e-3)));
    input.setAttribute("aria-valuetext", words);
    output.textContent = words;
  };
  return { label: h("label", { title }, name, input, output), show };
}

/** @param {(metres: number) => void} set */
function rangeSlider(set) {
  const input = h("input", { type: "range", min: 1, step: 1, "aria-label": "Radio range" });
  const output = h("output", {});
  const held = steer(
    input,
    () => set(Number(input.value)),
    () => {
      output.textContent = `${input.value} m, Enter sets it`;
    },
  );
  const show = (/** @type {number} */ metres) => {
    if (input.max === "") input.max = String(Math.max(10, Math.ceil(metres * 3)));
    if (held()) return;
    input.value = String(metres);
    input.setAttribute("aria-valuetext", `${metres} metres`);
    output.textContent = `${significant(metres, 3)} m`;
  };
  return { label: h("label", { title: "How far nodes hear each other" }, "Range", input, output), show };
}

/**
 * Sets something in the world by a slider. Home and End only move the slider, until Enter is pressed: on the rest of the
 * page they go to the beginning and the end of time, and here a metre of range would cut every link.
 * @param {HTMLInputElement} input
 * @param {() => void} set
 * @param {() => void} moved by such a key
 * @returns {() => boolean} whether the slider belongs to the hand, and not to what the world says
 */
function steer(input, set, moved) {
  let waits = false;
  input.addEventListener("keydown", ({ key }) => {
    if (key === "Enter" && waits) set();
    waits = key === "Home" || key === "End";
  });
  input.addEventListener("change", () => (waits ? moved() : set()));
  for (const name of ["blur", "pointerdown"]) {
    input.addEventListener(name, () => {
      waits = false;
    });
  }
  return () => waits || input.matches(":active");
}
