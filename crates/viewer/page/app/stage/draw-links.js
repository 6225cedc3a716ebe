// Ground and links: where nodes can be, who hears whom, and which way the token is.

import { slope } from "./look.js";

/** @import { NodeId } from "../types.d.ts" */
/** @import { Dot, Frame, Painter } from "./frame.js" */

/** @typedef {CanvasRenderingContext2D} Context */

/** The border of the area, and how far the radio of a chosen node reaches. @type {Painter} */
export function drawGround(context, frame) {
  const { camera, theme } = frame;
  if (frame.area) {
    const [left, top] = camera.toScreen([0, 0]);
    const [right, bottom] = camera.toScreen(frame.area);
    context.strokeStyle = theme.line;
    context.lineWidth = 1;
    context.setLineDash([2, 4]);
    context.strokeRect(left, top, right - left, bottom - top);
    context.setLineDash([]);
    context.fillStyle = theme.muted;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    context.textBaseline = "bottom";
    context.fillText(`${metres(frame.area[0])} × ${metres(frame.area[1])}`, left, top - 4);
  }
  for (const id of new Set([frame.chosen, frame.hovered])) {
    const dot = id === null ? undefined : frame.byId.get(id);
    if (dot && frame.range !== null) drawRange(context, frame, dot, frame.range);
  }
}

/**
 * @param {Context} context
 * @param {Frame} frame
 * @param {Dot} dot
 * @param {number} range
 */
function drawRange(context, { camera, theme }, dot, range) {
  context.beginPath();
  context.arc(dot.x, dot.y, range * camera.scale, 0, 2 * Math.PI);
  context.globalAlpha = 0.06;
  context.fillStyle = theme.accent;
  context.fill();
  context.globalAlpha = 0.5;
  context.strokeStyle = theme.accent;
  context.lineWidth = 1;
  context.setLineDash([5, 5]);
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/** @param {number} value */
function metres(value) {
  return value >= 1000 ? `${Number((value / 1000).toPrecision(3))} km` : `${Number(value.toPrecision(3))} m`;
}

/** Links in one path for each style: thousands of them must not cost thousands of strokes. @type {Painter} */
export function drawLinks(context, frame) {
  const { theme, byId, detail } = frame;
  const sure = new Path2D();
  const unsure = new Path2D();
  const arrows = new Path2D();
  const asked = new Path2D();
  const askedArrows = new Path2D();
  const links = frame.viewer.scene?.links ?? [];
  for (const [one, other] of links) {
    const a = byId.get(one);
    const b = byId.get(other);
    if (!a || !b || !crosses(frame, a, b)) continue;
    const down = detail === "little" ? null : slope(a.node, b.node);
    const [from, to] = down === -1 ? [b, a] : [a, b];
    const asks = detail !== "little" && (asksAlong(a, other) || asksAlong(b, one));
    line(asks ? asked : down === 0 ? unsure : sure, from, to);
    const points = down === 1 || down === -1;
    if (points && (asks || !frame.calm)) arrow(asks ? askedArrows : arrows, from, to, frame.radius);
  }
  // Where very many links cross, each is faint: otherwise one would see nothing but links.
  const crowd = detail === "little";
  const faint = frame.calm ? 0.14 : 0.36;
  context.strokeStyle = theme.muted;
  context.lineWidth = crowd ? 0.8 : 1.3;
  context.globalAlpha = crowd ? Math.min(0.3, Math.max(0.03, (1.5 * frame.dots.length) / links.length)) : faint;
  context.stroke(sure);
  context.setLineDash([3, 4]);
  context.stroke(unsure);
  context.setLineDash([]);
  context.globalAlpha = 1;
  if (crowd) return;
  context.strokeStyle = theme.muted;
  context.globalAlpha = 0.8;
  context.stroke(arrows);
  context.globalAlpha = 1;
  // Where a request has gone and is not answered yet.
  context.strokeStyle = theme.accent;
  context.lineWidth = 2.2;
  context.stroke(asked);
  context.stroke(askedArrows);
}

/** The link that is selected, also if it is cut. @type {Painter} */
export function drawChosenLink(context, frame) {
  if (!frame.chosenLink) return;
  const [one, other] = frame.chosenLink;
  const a = frame.byId.get(one);
  const b = frame.byId.get(other);
  if (!a || !b) return;
  const there = frame.viewer.scene?.links.some((link) => link[0] === one && link[1] === other);
  const path = new Path2D();
  line(path, a, b);
  context.strokeStyle = frame.theme.accent;
  context.lineWidth = 3;
  context.setLineDash(there ? [] : [2, 5]);
  context.stroke(path);
  context.setLineDash([]);
}

/**
 * @param {Dot} dot
 * @param {NodeId} neighbour
 */
function asksAlong(dot, neighbour) {
  return dot.node.view?.asked === neighbour;
}

/**
 * Whether a link can be in the picture.
 * @param {Frame} frame
 * @param {Dot} a
 * @param {Dot} b
 */
function crosses({ camera }, a, b) {
  if (a.visible || b.visible) return true;
  const out =
    Math.max(a.x, b.x) < 0 ||
    Math.max(a.y, b.y) < 0 ||
    Math.min(a.x, b.x) > camera.width ||
    Math.min(a.y, b.y) > camera.height;
  return !out;
}

/**
 * @param {Path2D} path
 * @param {Dot} from
 * @param {Dot} to
 */
function line(path, from, to) {
  path.moveTo(from.x, from.y);
  path.lineTo(to.x, to.y);
}

/**
 * A small arrow head in the middle of a link; open, because filled triangles are messages.
 * @param {Path2D} path
 * @param {Dot} from
 * @param {Dot} to
 * @param {number} radius
 */
function arrow(path, from, to, radius) {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  if (length < 2.6 * radius) return;
  const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
  const size = Math.min(6, Math.max(3, radius * 0.3));
  const [x, y] = [(from.x + to.x) / 2 + (ux * size) / 2, (from.y + to.y) / 2 + (uy * size) / 2];
  path.moveTo(x - ux * size - uy * size, y - uy * size + ux * size);
  path.lineTo(x, y);
  path.lineTo(x - ux * size + uy * size, y - uy * size - ux * size);
}
