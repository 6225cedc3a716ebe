// Draws the space-time diagram as SVG.

/** @import { NodeId } from "../types.d.ts" */
/** @import { Passage, Row, Stretch } from "./causality.js" */

import { recordMoment } from "../scene.js";
import { sessionPaint } from "../stage/theme.js";
import { describeRecord } from "../words.js";
import { h, s } from "./dom.js";
import { decimalsFor, moment } from "./format.js";

const TOP = 22;
const PAD = 14;

/**
 * @typedef {object} Picture
 * @property {Row[]} rows
 * @property {number[]} xs where each row stands
 * @property {Passage[]} messages
 * @property {Stretch[]} stretches
 * @property {NodeId[]} lanes
 * @property {number} lane height of a lane
 * @property {NodeId | null} selected
 * @property {"step" | "time_ns"} clock
 * @property {(id: NodeId) => string} nameOf
 * @property {(line: number) => void} choose
 * @property {(node: NodeId) => void} chooseNode
 * @property {(line: number | null) => void} point
 */

/** @param {Picture} picture */
export function drawDiagram(picture) {
  const { rows, xs, lanes, lane } = picture;
  const width = (xs.at(-1) ?? 0) + 2 * PAD;
  const height = TOP + lanes.length * lane + 6;
  const laneY = new Map(lanes.map((node, index) => [node, TOP + (index + 0.5) * lane]));
  const lineX = new Map(rows.map(({ line }, index) => [line, PAD + xs[index]]));
  const svg = s("svg", { width, height, role: "img", "aria-label": summary(picture) });
  /** What fades, with the lines it belongs to. @type {{ element: Element, lines: number[] }[]} */
  const fading = [];
  /** @param {Element} element @param {...number} lines */
  const add = (element, ...lines) => {
    element.classList.add("fades");
    fading.push({ element, lines });
    svg.append(element);
  };
  /** @type {Canvas} */
  const canvas = { ...picture, svg, add, laneY, lineX, width, height };
  drawTicks(canvas);
  for (const node of lanes) {
    const y = laneY.get(node) ?? 0;
    svg.append(
      s("line", { class: node === picture.selected ? "lane selected" : "lane", x1: 0, x2: width, y1: y, y2: y }),
    );
  }
  drawStretches(canvas);
  drawLinks(canvas);
  drawMessages(canvas);
  drawDots(canvas);
  drawViolation(canvas);
  const cursor = s("line", { class: "cursor", y1: TOP - 4, y2: height });
  svg.append(cursor);
  return {
    svg,
    names: drawNames(canvas),
    /** Moves the cursor behind a line; tells where it is. @param {number} line */
    cursor(line) {
      const at = rows.findLastIndex((row) => row.line <= line);
      const x = at < 0 ? 2 : PAD + xs[at] + 3;
      cursor.setAttribute("x1", String(x));
      cursor.setAttribute("x2", String(x));
      return x;
    },
    /** Fades all that does not belong to these lines. @param {Set<number> | null} lines */
    trace(lines) {
      svg.classList.toggle("traced", lines !== null);
      for (const { element, lines: own } of fading) {
        element.classList.toggle("near", lines?.has(own[0]) === true && own.every((line) => lines.has(line)));
      }
    },
  };
}

/**
 * @typedef {Picture & { svg: Element, add: (element: Element, ...lines: number[]) => void, width: number,
 *   height: number, laneY: Map<NodeId, number>, lineX: Map<number, number> }} Canvas
 */

/** @param {Canvas} canvas */
function drawTicks({ rows, xs, svg, clock, width }) {
  let free = 0;
  const violated = rows.at(-1)?.record.end?.violation !== undefined;
  const [first, last] = [rows[0], rows[rows.length - 1]].map(({ record }) => recordMoment(record));
  const decimals = Math.min(6, decimalsFor((last - first) / Math.max(1, width / 90)));
  for (const [index, { record }] of rows.entries()) {
    const x = PAD + xs[index];
    // The words about a violation stand at the end.
    if (x < free || (violated && x > width - 170)) continue;
    svg.append(s("text", { class: "tick-label", x, y: 13 }, moment(recordMoment(record), clock, decimals)));
    free = x + (clock === "step" ? 60 : 96);
  }
}

/** Waiting is a dotted frame, holding a filled one. @param {Canvas} canvas */
function drawStretches({ stretches, add, laneY, lineX, width }) {
  const bar = (
    /** @type {string} */ kind,
    /** @type {number} */ y,
    /** @type {number} */ from,
    /** @type {number} */ to,
  ) => s("rect", { class: kind, x: from, y: y - 7, width: Math.max(2, to - from), height: 14, rx: 2 });
  for (const { node, asked, granted, ended, held, session } of stretches) {
    const y = laneY.get(node);
    if (y === undefined) continue;
    const lines = [asked, granted, ended].filter((line) => line !== null);
    const x = (/** @type {number | null} */ line, /** @type {number} */ otherwise) =>
      line === null ? otherwise : (lineX.get(line) ?? otherwise);
    const end = x(ended, width);
    if (asked !== null && granted !== asked) add(bar("waits", y, x(asked, 0), held ? x(granted, 0) : end), ...lines);
    if (!held) continue;
    const inside = bar("held", y, x(granted, 0), end);
    inside.style.setProperty("--inside", `var(--${sessionPaint(session)})`);
    add(inside, ...lines);
  }
}

/** A change of a link is a line between its ends: dashed where it breaks. @param {Canvas} canvas */
function drawLinks({ rows, add, laneY, lineX, nameOf }) {
  for (const { line, record } of rows) {
    if (!record.link) continue;
    const [one, other] = record.link.between.map((node) => laneY.get(node));
    if (one === undefined || other === undefined) continue;
    const x = lineX.get(line);
    const mark = s("line", { class: record.link.up ? "change" : "change down", x1: x, x2: x, y1: one, y2: other });
    mark.append(s("title", {}, describeRecord(record, nameOf).title));
    add(mark, line);
  }
}

/** @param {Canvas} canvas */
function drawMessages({ messages, add, laneY, lineX, nameOf }) {
  for (const { from, to, sent, ended, lost, token, kind } of messages) {
    const [y1, y2] = [laneY.get(from), laneY.get(to)];
    if (y1 === undefined || y2 === undefined) continue;
    const known = sent === null ? undefined : lineX.get(sent);
    const arrival = ended === null ? undefined : lineX.get(ended);
    // What was sent before comes in from the left; what has not arrived yet is a stub.
    const x1 = known ?? Math.max(0, (arrival ?? 0) - 24);
    const x2 = arrival ?? x1 + 16;
    const part = arrival === undefined ? Math.min(1, 16 / Math.abs(y2 - y1)) : 1;
    const end = { x: x2, y: y1 + (y2 - y1) * part };
    const start = known === undefined ? { x: x1, y: y2 + (y1 - y2) * 0.6 } : { x: x1, y: y1 };
    const classes = `${token ? "token" : ""} ${lost ? "lost" : ""} ${arrival === undefined ? "open" : ""}`;
    const group = s(
      "g",
      {},
      s("line", { class: `message ${classes}`, x1: start.x, y1: start.y, x2: end.x, y2: end.y }),
      lost ? cross(end.x, end.y) : head(start, end, classes),
      s("title", {}, `${kind} from ${nameOf(from)} to ${nameOf(to)}${lost ? ", lost" : ""}`),
    );
    add(group, ...[sent, ended].filter((line) => line !== null && lineX.has(line)).map(Number));
  }
}

/** @typedef {{ x: number, y: number }} Point */

/** @param {Point} from @param {Point} to @param {string} classes */
function head(from, to, classes) {
  const angle = (Math.atan2(to.y - from.y, to.x - from.x) * 180) / Math.PI;
  return s("path", {
    class: `head ${classes}`,
    d: "M0 0 -7 -3 -7 3Z",
    transform: `translate(${to.x} ${to.y}) rotate(${angle}) translate(-3 0)`,
  });
}

/** @param {number} x @param {number} y */
function cross(x, y) {
  return s("path", { class: "cross", d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8` });
}

/** @param {Canvas} canvas */
function drawDots({ rows, add, laneY, lineX, nameOf, choose, point }) {
  for (const { line, record } of rows) {
    if (record.node === undefined || record.event === undefined) continue;
    const y = laneY.get(record.node);
    if (y === undefined) continue;
    const granted = record.effects?.some((effect) => "granted" in effect);
    const x = lineX.get(line) ?? 0;
    // A grant is a diamond, all else a disc.
    const shape = granted
      ? s("path", { class: "dot", d: `M${x} ${y - 6}l6 6l-6 6l-6 -6Z` })
      : s("circle", { class: "dot", cx: x, cy: y, r: 3.2 });
    const { title, details } = describeRecord(record, nameOf);
    shape.append(s("title", {}, [title, ...details].join("\n")));
    shape.addEventListener("click", () => choose(line));
    shape.addEventListener("pointerenter", () => point(line));
    shape.addEventListener("pointerleave", () => point(null));
    add(shape, line);
  }
}

/** @param {Canvas} canvas */
function drawViolation({ rows, svg, laneY, lineX, height }) {
  for (const { line, record } of rows) {
    const violation = record.end?.violation;
    if (!violation) continue;
    const x = lineX.get(line) ?? 0;
    svg.append(s("line", { class: "violation", x1: x, x2: x, y1: TOP - 4, y2: height, "stroke-width": 2 }));
    const y = violation.node === undefined ? undefined : laneY.get(violation.node);
    if (y !== undefined) svg.append(s("circle", { class: "violation", cx: x, cy: y, r: 7 }));
    const words = { class: "violation", x: x - 6, y: 13, "text-anchor": "end", "stroke-width": 0 };
    svg.append(s("text", words, `✕ ${violation.rule}`));
  }
}

/** The names stay where they are while the lanes are scrolled. @param {Canvas} canvas */
function drawNames({ lanes, laneY, selected, nameOf, chooseNode, height }) {
  const longest = Math.max(4, ...lanes.map((node) => nameOf(node).length));
  const names = s("svg", { width: Math.min(140, longest * 7 + 20), height, "aria-hidden": "true" });
  for (const node of lanes) {
    const y = (laneY.get(node) ?? 0) + 4;
    const name = s(
      "text",
      { class: node === selected ? "name selected" : "name", x: 12, y },
      nameOf(node).slice(0, 18),
    );
    name.addEventListener("click", () => chooseNode(node));
    names.append(name);
  }
  return h("div", { class: "lane-names" }, names);
}

/** @param {Picture} picture */
function summary({ rows, lanes, messages }) {
  const lost = messages.filter((message) => message.lost).length;
  return `Space-time diagram of ${lanes.length} nodes, ${rows.length} records and ${messages.length} messages, ${lost} of them lost. The tab Events has the same in words.`;
}
