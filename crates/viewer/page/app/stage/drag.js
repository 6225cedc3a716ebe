// Dragging a node: its picture follows at once, the server is told ten times a second, and of the last place always.

import { areaOf } from "./look.js";

/** @import { Position, SceneNode } from "../types.d.ts" */
/** @import { Stage } from "./index.js" */

/** In milliseconds. */
const TELL_EVERY = 100;

/**
 * Whether dragging does something: it moves the node where that can be done, or only its picture if it has no place.
 * @param {Stage} stage
 * @param {SceneNode} node
 */
export function canDrag({ viewer }, node) {
  return !node.position || viewer.about.can.includes("move");
}

/**
 * The nearest place in the area: a node that is dragged over its border stays at the border.
 * @param {Position} to
 * @param {[number, number] | null} area
 * @returns {Position}
 */
export function inside(to, area) {
  if (!area) return to;
  return [Math.min(Math.max(to[0], 0), area[0]), Math.min(Math.max(to[1], 0), area[1])];
}

/** @param {Stage} stage */
export function dragger(stage) {
  const { viewer, places } = stage;
  /** @type {{ node: SceneNode, to: Position } | null} */
  let untold = null;
  let waiting = false;

  function tell() {
    if (!untold || waiting) return;
    const { node, to } = untold;
    untold = null;
    waiting = true;
    viewer.act({ do: "move", node: node.id, to }).catch(() => {}); // the viewer told the user
    setTimeout(() => {
      waiting = false;
      tell();
    }, TELL_EVERY);
  }

  /**
   * @param {SceneNode} node
   * @param {Position} wanted
   */
  return (node, wanted) => {
    const to = node.position ? inside(wanted, areaOf(viewer.summary?.header)) : wanted;
    places.drag(node, to);
    if (node.position && viewer.about.can.includes("move")) {
      untold = { node, to };
      tell();
    }
    stage.redraw();
  };
}
