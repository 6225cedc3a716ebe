// Everything that is drawn in one frame, worked out beforehand: where nodes are on the canvas, and how much is shown.

import { repairNow } from "../census.js";
import { isRequest } from "./draw-flights.js";
import { areaOf, capacityOf, lookOf, rangeOf } from "./look.js";

/** @import { Flight, NodeId, Position, SceneNode, Viewer } from "../types.d.ts" */
/** @import { Camera } from "./camera.js" */
/** @import { Look } from "./look.js" */
/** @import { Places } from "./places.js" */
/** @import { Theme } from "./theme.js" */

/**
 * A node on the canvas.
 * @typedef {object} Dot
 * @property {SceneNode} node
 * @property {number} x
 * @property {number} y
 * @property {Look} look
 * @property {boolean} visible
 */

/**
 * @typedef {object} Frame
 * @property {Viewer} viewer
 * @property {Camera} camera
 * @property {Theme} theme
 * @property {Dot[]} dots
 * @property {Map<NodeId, Dot>} byId
 * @property {number} radius of a node, in pixels
 * @property {"full" | "names" | "some" | "little"} detail
 * @property {number} capacity
 * @property {number | null} range
 * @property {[number, number] | null} area
 * @property {NodeId | null} chosen the selected node, or the one where the selected line happened
 * @property {[NodeId, NodeId] | null} chosenLink
 * @property {NodeId | null} hovered
 * @property {NodeId | null} focused by the keyboard
 * @property {import("../census.js").Repair | null} repair who makes lost tokens anew, and who is waited for
 * @property {Map<NodeId, string>} suspended nodes that grant nothing now, and why
 * @property {boolean} calm only the token and requests are drawn, and links are faint
 * @property {NodeId | undefined} broken where a broken rule shows
 * @property {Flight[]} flights messages on their way
 * @property {number} pulse 0 to 1, while time goes by; 0 otherwise
 */

/** @typedef {(context: CanvasRenderingContext2D, frame: Frame) => void} Painter draws a part of a frame */
/** @typedef {(context: CanvasRenderingContext2D, frame: Frame, dot: Dot) => void} DotPainter draws a part of a node */
/** @typedef {(context: CanvasRenderingContext2D, frame: Frame, dots: Dot[]) => void} DotsPainter */

const LARGEST = 22;
const SMALLEST = 2.5;
/** From these radii on nodes are drawn with everything; with names; and with links that point. */
const FULL_FROM = 13;
const NAMES_FROM = 9;
const SOME_FROM = 5.5;
/** Between nodes that would cover each other, in pixels. */
const GAP = 3;
/** So many nodes are pushed apart in a frame, all rounds together; and so little is not worth a push, in pixels. */
const PUSHES = 20_000;
const SLIGHT = 0.5;

/**
 * @param {Viewer} viewer
 * @param {Camera} camera
 * @param {Places} places
 * @param {Theme} theme
 * @param {{ hovered: NodeId | null, focused: NodeId | null, pulse: number }} pointer
 * @param {boolean} calm
 * @returns {Frame | null}
 */
export function frameOf(viewer, camera, places, theme, pointer, calm) {
  const { scene, summary } = viewer;
  if (!scene || !summary) return null;
  const radius = radiusFor(scene.nodes.length, camera, places);
  const margin = radius * 4;
  const time = performance.now();
  /** @type {Map<NodeId, Dot>} */
  const byId = new Map();
  const dots = scene.nodes.map((node) => {
    const [x, y] = camera.toScreen(places.of(node, time));
    const visible = x > -margin && y > -margin && x < camera.width + margin && y < camera.height + margin;
    const dot = { node, x, y, look: lookOf(node, scene), visible };
    byId.set(node.id, dot);
    return dot;
  });
  const there = dots.filter((dot) => dot.visible && !dot.node.gone);
  separate(there, 2 * radius + GAP);
  const flights = viewer.flights();
  return {
    flights: calm ? flights.filter(({ kind, token }) => token || isRequest(kind)) : flights,
    calm,
    viewer,
    camera,
    theme,
    dots,
    byId,
    radius,
    detail: detailFor(radius),
    capacity: capacityOf(viewer),
    range: places.real ? rangeOf(viewer) : null,
    area: places.real ? areaOf(summary.header) : null,
    chosen: chosenNode(viewer),
    chosenLink: viewer.selected && "link" in viewer.selected ? viewer.selected.link : null,
    broken: scene.end?.violation?.node,
    repair: repairNow(viewer),
    suspended: new Map(viewer.following ? viewer.condition.suspended : []),
    ...pointer,
  };
}

/**
 * Nodes that would cover each other are drawn beside each other. Where they are in the world stays as it is.
 * @param {{ x: number, y: number }[]} dots
 * @param {number} least how far apart their middles are at least
 */
export function separate(dots, least) {
  for (let left = PUSHES, pushed = true; left > 0 && pushed; left -= dots.length) {
    pushed = false;
    dots.sort((a, b) => a.x - b.x);
    for (const [i, a] of dots.entries()) {
      for (let j = i + 1; j < dots.length && dots[j].x - a.x < 2 * least; j++) {
        const b = dots[j];
        const apart = Math.hypot(b.x - a.x, b.y - a.y);
        if (apart > least - SLIGHT) continue;
        pushed = true;
        // Two at one place go apart in a direction of their own.
        const [ux, uy] = apart > 0.01 ? [(b.x - a.x) / apart, (b.y - a.y) / apart] : [Math.cos(j), Math.sin(j)];
        const by = (least - apart) / 2;
        a.x -= ux * by;
        a.y -= uy * by;
        b.x += ux * by;
        b.y += uy * by;
      }
    }
  }
}

/**
 * @param {Viewer} viewer
 * @returns {NodeId | null}
 */
function chosenNode(viewer) {
  const { selected } = viewer;
  if (!selected || "link" in selected) return null;
  if ("node" in selected) return selected.node;
  return viewer.recordAt(selected.line)?.node ?? null;
}

/** @param {number} radius */
function detailFor(radius) {
  if (radius >= FULL_FROM) return "full";
  if (radius >= NAMES_FROM) return "names";
  return radius >= SOME_FROM ? "some" : "little";
}

/**
 * Nodes get smaller the nearer they are to each other, so that links between them can still be seen.
 * @param {number} count
 * @param {Camera} camera
 * @param {Places} places
 */
function radiusFor(count, camera, places) {
  const box = places.box();
  const spacing = Math.sqrt(((box.right - box.left) * (box.bottom - box.top)) / Math.max(count, 1)) * camera.scale;
  return Math.max(SMALLEST, Math.min(LARGEST, spacing * 0.185));
}

/**
 * The node at a point of the canvas; null if there is none.
 * @param {Frame} frame
 * @param {Position} point
 */
export function nodeAt(frame, [x, y]) {
  const reach = Math.max(frame.radius + 4, 10);
  let best = null;
  let nearest = reach * reach;
  for (const dot of frame.dots) {
    const distance = (dot.x - x) ** 2 + (dot.y - y) ** 2;
    if (distance <= nearest) {
      nearest = distance;
      best = dot.node;
    }
  }
  return best;
}

/**
 * The link at a point of the canvas; null if there is none.
 * @param {Frame} frame
 * @param {Position} point
 * @returns {[NodeId, NodeId] | null}
 */
export function linkAt(frame, [x, y]) {
  /** @type {[NodeId, NodeId] | null} */
  let best = null;
  let nearest = 6;
  for (const link of frame.viewer.scene?.links ?? []) {
    const a = frame.byId.get(link[0]);
    const b = frame.byId.get(link[1]);
    if (!a || !b) continue;
    const length = Math.max((b.x - a.x) ** 2 + (b.y - a.y) ** 2, 1);
    const along = ((x - a.x) * (b.x - a.x) + (y - a.y) * (b.y - a.y)) / length;
    if (along <= 0 || along >= 1) continue;
    const away = Math.hypot(a.x + along * (b.x - a.x) - x, a.y + along * (b.y - a.y) - y);
    if (away < nearest) {
      nearest = away;
      best = link;
    }
  }
  return best;
}
