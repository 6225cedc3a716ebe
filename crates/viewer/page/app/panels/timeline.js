// The line from beginning to end: what happened when, how much has been read, and a cursor to be moved.

/** @import { MarkKind, Viewer } from "../types.d.ts" */

import { watchTheme } from "../stage/theme.js";
import { h, paced, s } from "./dom.js";
import { moment } from "./format.js";
import { jump } from "./keys.js";
import { byColumn, extentOf, fraction, heights, marksOf } from "./marks.js";
import { clockOf } from "./names.js";

/** The rows of marks from top to bottom; heights in pixels, colours as names of custom properties. */
const ROWS = /** @type {const} */ ([
  { kind: "grant", name: "grants", top: 0, height: 17, colour: "--accent" },
  { kind: "request", name: "requests", top: 18, height: 9, colour: "--muted" },
  { kind: "link", name: "link changes", top: 28, height: 6, colour: "--s3" },
  { kind: "lost", name: "losses", top: 35, height: 6, colour: "--s1" },
]);
const FOOT = 43;
/** How wide a column of marks is, with the gap after it. */
const COLUMN = 3;

/** @param {Viewer} viewer @param {HTMLElement} element */
export function timeline(viewer, element) {
  const canvas = h("canvas", {});
  const tip = h("div", { class: "tip", hidden: true });
  const track = h(
    "div",
    { class: "track", role: "slider", tabindex: 0, "aria-label": "Moment", "aria-valuemin": 0 },
    canvas,
    tip,
  );
  element.append(track, legend());
  const draw = paced(track, () => paint(viewer, canvas), 0);
  const last = () => viewer.summary?.last ?? viewer.figures?.last ?? 0;

  /** @param {PointerEvent} event */
  const pointed = (event) => {
    const box = track.getBoundingClientRect();
    return fraction(event.clientX - box.left, box.width) * last();
  };
  let dragging = false;
  track.addEventListener("pointerdown", (event) => {
    dragging = true;
    track.setPointerCapture(event.pointerId);
    viewer.seekTo(pointed(event));
  });
  track.addEventListener("pointermove", (event) => {
    const at = pointed(event);
    if (dragging) viewer.seekTo(at);
    tip.hidden = false;
    tip.textContent = moment(at, clockOf(viewer));
    tip.style.left = `clamp(3rem, ${fraction(at, last()) * 100}%, calc(100% - 3rem))`;
  });
  const end = () => {
    dragging = false;
  };
  track.addEventListener("pointerup", end);
  track.addEventListener("pointercancel", end);
  track.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
  track.addEventListener("keydown", (event) => {
    const page = { PageUp: -0.1, PageDown: 0.1 }[event.key];
    if (page !== undefined) viewer.seekTo(Math.min(last(), Math.max(0, viewer.now + page * last())));
    else if (event.key === "ArrowUp") jump(viewer, "grant", false);
    else if (event.key === "ArrowDown") jump(viewer, "grant", true);
    else return;
    event.preventDefault();
  });
  function update() {
    const clock = clockOf(viewer);
    track.setAttribute("aria-valuemax", String(Math.round(clock === "step" ? last() : last() / 1e6)));
    track.setAttribute("aria-valuenow", String(Math.round(clock === "step" ? viewer.now : viewer.now / 1e6)));
    track.setAttribute("aria-valuetext", moment(viewer.now, clock));
    draw();
  }
  for (const name of /** @type {const} */ (["moment", "summary", "figures", "check"])) viewer.on(name, update);
  watchTheme(draw);
  new ResizeObserver(draw).observe(track);
  update();
}

/** @param {Viewer} viewer @param {HTMLCanvasElement} canvas */
function paint(viewer, canvas) {
  const scale = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  const pen = canvas.getContext("2d");
  if (!pen || width === 0) return;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const style = getComputedStyle(canvas);
  const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  paintGround(viewer, pen, width, colour);
  for (const { kind, top, height: room, colour: name } of ROWS) {
    pen.fillStyle = colour(name);
    for (const [column, part] of heights(sums(viewer, kind, width)).entries()) {
      const tall = part > 0 ? Math.max(2, part * room) : 0;
      if (tall > 0) pen.fillRect(column * COLUMN, top + room - tall, COLUMN - 0.8, tall);
    }
  }
  pen.fillStyle = colour("--alarm");
  for (const [column, many] of sums(viewer, "violation", width).entries()) {
    if (many === 0) continue;
    // A line and a triangle: not by colour alone.
    const x = Math.min(width - 1, column * COLUMN + COLUMN / 2);
    pen.fillRect(x - 1, 0, 2, FOOT);
    pen.beginPath();
    pen.moveTo(x - 5.5, 0);
    pen.lineTo(x + 5.5, 0);
    pen.lineTo(x, 8);
    pen.fill();
  }
  paintCursor(viewer, pen, width, colour);
}

/** What can be had is a line; what was dropped or is not read yet is dotted. @type {Painter} */
function paintGround(viewer, pen, width, colour) {
  const { summary } = viewer;
  const last = summary?.last ?? 0;
  const from = fraction(summary?.chunks[0]?.from ?? 0, last) * width;
  pen.fillStyle = colour("--line");
  pen.fillRect(0, FOOT, width, 1);
  pen.fillStyle = colour("--axis");
  pen.fillRect(summary && summary.chunks[0]?.line > 2 ? from : 0, FOOT - 0.5, width, 2);
  if (!summary || summary.read >= 1) return;
  pen.fillStyle = colour("--muted");
  pen.font = "11px system-ui, sans-serif";
  pen.textAlign = "right";
  pen.fillText(`reading, ${Math.floor(summary.read * 100)} %`, width - 4, 11);
}

/** @typedef {(viewer: Viewer, pen: CanvasRenderingContext2D, width: number, colour: (name: string) => string) => void} Painter */

/** @type {Painter} */
function paintCursor(viewer, pen, width, colour) {
  const x = fraction(viewer.now, viewer.summary?.last ?? 0) * width;
  pen.fillStyle = colour("--accent");
  pen.fillRect(0, FOOT - 0.5, x, 2);
  pen.fillRect(x - 1, 0, 2, FOOT);
  pen.beginPath();
  pen.arc(Math.min(width - 5, Math.max(5, x)), FOOT - 1, 4.5, 0, 7);
  pen.fill();
}

/** @param {Viewer} viewer @param {MarkKind} kind @param {number} width */
function sums(viewer, kind, width) {
  const { figures } = viewer;
  const clock = clockOf(viewer);
  const stretch = figures && figures.last > 0 && !viewer.place ? extentOf(figures, clock) / figures.last : 1;
  return byColumn(marksOf(viewer, kind) ?? [], Math.floor((width / COLUMN) * stretch));
}

function legend() {
  const entries = [...ROWS, { name: "violations", colour: "--alarm" }];
  return h(
    "div",
    { class: "legend-line", "aria-hidden": "true" },
    h("span", {}, "From top to bottom:"),
    entries.map(({ name, colour }) => {
      const sample = s("rect", { x: 3, y: 1, width: 6, height: 10, rx: 1 });
      sample.style.fill = `var(${colour})`;
      return h("span", {}, s("svg", { viewBox: "0 0 12 12" }, sample), name);
    }),
  );
}
