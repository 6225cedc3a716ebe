// Dragging a node: its picture follows at once, the server is told ten times a second, and of the last place always.

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
   * @param {Position} to
   */
  return (node, to) => {
    places.drag(node, to);
    if (node.position && viewer.about.can.includes("move")) {
      untold = { node, to };
      tell();
    }
    stage.redraw();
  };
}
