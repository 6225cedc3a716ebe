// The signs of the picture with their meanings; drawn as the stage draws them.

/** @import { Header } from "../types.d.ts" */

import { h, s } from "./dom.js";

/** @typedef {Record<string, any>} More */

/** @param {Header} header */
export function symbols(header) {
  const token = !["ricart-agrawala", "lamport", "raynal", "central"].includes(header.protocol);
  const heights = header.protocol === "reverse-link";
  const lets = !token || header.protocol === "group";
  const takesBack = heights || header.protocol === "central";
  /** @type {([Element[], string] | false)[]} */
  const entries = [
    token && [[paint(circle(9.5), "--ground", "--token", 2.6), body("--ground", "--muted")], "has the token"],
    heights && [
      [paint(circle(9.5, { "stroke-dasharray": "3 2" }), null, "--token", 1.4), body("--ground", "--muted")],
      "gave the token away, and keeps a copy until it has arrived",
    ],
    [[body("--accent", "--accent")], "is inside: it holds what it asked for; each session has its own colour"],
    [[body("--ground", "--accent"), ...clock()], "waits"],
    [
      [chip(3, "--accent"), chip(18, "--ground")],
      "claims it knows, the most urgent first, with the priority asked for (r: only the rank is known); filled its own, " +
        "hollow of others",
    ],
    heights && [[line(), arrow("--muted")], "a link points downhill, to the token"],
    heights && [[line("--accent", 2.4), arrow("--accent")], "a request went this way and is not answered yet"],
    !heights && [[line()], "a link: the two hear each other"],
    token && [[paint(circle(4.5), "--token", "--token")], "the token on its way"],
    [[shape("M12 6 23 11 12 16Z", "--accent")], "a request on its way"],
    [[shape("M13 7h8v8h-8Z", "--good")], "a release, or that one is done"],
    lets && [[paint(circle(4), "--good", "--good", 0.5)], "a grant or permission"],
    takesBack && [[shape("M11 9.2h12v3.6h-12Z", "--s3")], "withdraws a request"],
    [[shape("M17 5 23 11 17 17 11 11Z", "--muted")], "any other message"],
    [[cross()], "a message is lost"],
    header.source === "node" && [
      [paint(circle(6, { "stroke-dasharray": "3 2" }), "--ground", "--muted")],
      "suspended: it has not heard enough of the others and grants nothing",
    ],
    header.source === "node" && [[body("--ground", "--muted"), cross()], "gone; in red: it crashed"],
  ];
  return h(
    "div",
    { class: "symbols" },
    entries
      .filter((entry) => entry !== false)
      .flatMap(([shapes, words]) => [
        s("svg", { viewBox: "0 0 34 22", "aria-hidden": "true" }, shapes),
        h("span", {}, words),
      ]),
  );
}

/** @param {Element & ElementCSSInlineStyle} element @param {string | null} fill @param {string} stroke @param {number} [width] */
function paint(element, fill, stroke, width = 1.8) {
  element.style.fill = fill ? `var(${fill})` : "none";
  element.style.stroke = `var(${stroke})`;
  element.style.strokeWidth = String(width);
  return element;
}

/** @param {number} r @param {More} [more] */
function circle(r, more = {}) {
  return s("circle", { cx: 17, cy: 11, r, ...more });
}

/** @param {string} fill @param {string} edge */
function body(fill, edge) {
  return paint(circle(6), fill, edge);
}

function clock() {
  const hands = s("path", { d: "M22 3.5V6l1.6 .8" });
  return [paint(s("circle", { cx: 22, cy: 6, r: 4 }), "--accent", "--ground", 1), paint(hands, null, "--ground", 1.1)];
}

/** @param {number} x @param {string} fill */
function chip(x, fill) {
  return paint(s("rect", { x, y: 5, width: 12, height: 12, rx: 3 }), fill, "--accent", 1.2);
}

/** @param {string} [colour] @param {number} [width] */
function line(colour = "--axis", width = 1.4) {
  return paint(s("path", { d: "M2 11H32" }), null, colour, width);
}

/** @param {string} colour */
function arrow(colour) {
  return paint(s("path", { d: "M14 7 19 11 14 15" }), null, colour, 1.6);
}

/** @param {string} d @param {string} colour */
function shape(d, colour) {
  return paint(s("path", { d }), colour, colour, 0.5);
}

function cross() {
  return paint(s("path", { d: "M13 7l8 8m0-8l-8 8" }), null, "--alarm", 2.2);
}
