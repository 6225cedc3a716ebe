// Playing, stepping, jumping; how fast, and where we are.

/** @import { MarkKind, Viewer } from "../types.d.ts" */

import { button, fill, h, s } from "./dom.js";
import { moment, speed as speedWords } from "./format.js";
import { jump, playOrPause } from "./keys.js";
import { marksOf } from "./marks.js";
import { clockOf } from "./names.js";
import { copy } from "./notices.js";

export const TIME_SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
export const STEP_SPEEDS = [0.5, 1, 2, 4, 8, 16, 32, 64];

/** @type {[MarkKind, string, string][]} */
const JUMPS = [
  ["grant", "grant", "grant (g)"],
  ["link", "link", "change of a link (l)"],
  ["violation", "violation", "violation (v)"],
];

/** @param {Viewer} viewer @param {HTMLElement} element @param {HTMLElement | null} settings of a live simulation */
export function transport(viewer, element, settings) {
  const play = button([icon("play")], () => playOrPause(viewer), {
    class: "icon primary",
  });
  const now = h("output", { class: "now", "aria-live": "off" });
  const speed = h("select", { "aria-label": "Speed", title: "Speed of playback" });
  const follow = button("Follow", () => viewer.follow(), { title: "Show what happens as it happens (f)" });
  const jumps = JUMPS.map(([kind, name, title]) => ({ kind, group: jumpGroup(viewer, kind, name, title) }));
  speed.addEventListener("change", () => viewer.setSpeed(Number(speed.value)));
  element.append(
    h(
      "div",
      { class: "transport" },
      h(
        "div",
        { class: "group" },
        button([icon("start")], () => viewer.seek(1), { class: "icon", ...named("To the beginning (Home)") }),
        button([icon("back")], () => viewer.step(-1), { class: "icon", ...named("One step back (←)") }),
        play,
        button([icon("forward")], () => viewer.step(1), { class: "icon", ...named("One step forward (→)") }),
      ),
      speed,
      now,
      follow,
      settings,
      h("span", { class: "spacer" }),
      button("Copy link", () => copy(location.href.split("#")[0] + viewer.link, "The link to this moment is copied."), {
        title: "An address that leads to this moment and what is selected",
      }),
      jumps.map(({ group }) => group),
    ),
  );

  /** @type {string} */
  let offered = "";
  function drawSpeeds() {
    const clock = clockOf(viewer);
    const usual = clock === "step" ? STEP_SPEEDS : TIME_SPEEDS;
    // A speed that was set otherwise is offered as well.
    const speeds = usual.includes(viewer.speed) ? usual : [...usual, viewer.speed].sort((a, b) => a - b);
    if (offered !== `${clock} ${speeds}`) {
      offered = `${clock} ${speeds}`;
      fill(
        speed,
        speeds.map((value) => h("option", { value }, speedWords(value, clock))),
      );
    }
    speed.value = String(viewer.speed);
  }

  let shownPlaying = false;
  function draw() {
    const moves = viewer.playing || viewer.following;
    if (shownPlaying !== moves) fill(play, icon(moves ? "pause" : "play"));
    shownPlaying = moves;
    for (const [name, value] of Object.entries(named(moves ? "Pause (space)" : "Play (space)"))) {
      play.setAttribute(name, value);
    }
    follow.hidden = !(viewer.summary?.grows ?? false);
    follow.setAttribute("aria-pressed", String(viewer.following));
    // What happens now happens at its own speed.
    speed.hidden = viewer.following;
    drawSpeeds();
    drawNow();
  }
  function drawNow() {
    const clock = clockOf(viewer);
    const last = viewer.summary && !viewer.following ? ` / ${moment(viewer.summary.last, clock)}` : "";
    const line = viewer.scene ? ` · line ${viewer.scene.line}` : "";
    now.textContent = `${moment(viewer.now, clock)}${last}${line}`;
  }
  function drawJumps() {
    for (const { kind, group } of jumps) {
      const none = (marksOf(viewer, kind) ?? [1]).every((many) => many === 0);
      for (const one of group.querySelectorAll("button")) one.disabled = none;
      // Violations are rare; no button should search for what is not there.
      group.hidden = none && kind === "violation";
    }
  }
  viewer.on("transport", draw);
  viewer.on("summary", draw);
  viewer.on("moment", drawNow);
  viewer.on("figures", drawJumps);
  viewer.on("summary", drawJumps);
  viewer.on("check", drawJumps);
  draw();
  drawJumps();
}

/** @param {Viewer} viewer @param {MarkKind} kind @param {string} name @param {string} title */
function jumpGroup(viewer, kind, name, title) {
  return h(
    "div",
    { class: "group jump", role: "group", "aria-label": `Jump to a ${title}` },
    button([icon("left")], () => jump(viewer, kind, true), {
      class: "icon",
      ...named(`Previous ${title}, with Shift`),
    }),
    h("span", { "aria-hidden": "true" }, name),
    button([icon("right")], () => jump(viewer, kind, false), { class: "icon", ...named(`Next ${title}`) }),
  );
}

/** @param {string} words */
function named(words) {
  return { title: words, "aria-label": words };
}

// Small pictures on buttons, in the colour of the text.
const PATHS = {
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 2.5h3v11H4zM9 2.5h3v11H9z",
  back: "M12.5 2.5v11L5.5 8zM3 2.5h1.8v11H3z",
  forward: "M3.5 2.5v11l7-5.5zM11.2 2.5H13v11h-1.8z",
  left: "M10.5 2.5 5 8l5.5 5.5 1.4-1.4L7.8 8l4.1-4.1z",
  right: "M5.5 2.5 11 8l-5.5 5.5-1.4-1.4L8.2 8 4.1 3.9z",
  start: "M3 2.5h2v11H3zM13 2.5v11L6 8z",
};

/** @param {keyof typeof PATHS} name */
function icon(name) {
  return s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: PATHS[name] }));
}
