// Mouse, pen and fingers on the picture.

import { canDrag, dragger } from "./drag.js";
import { linkAt, nodeAt } from "./frame.js";
import { nodeWords, rangeOf } from "./look.js";

/** @import { Position, SceneNode } from "../types.d.ts" */
/** @import { Menu } from "./menu.js" */
/** @import { Stage } from "./index.js" */

/** A press that moves less than this, in pixels, is a click. */
const STILL = 4;
/** A press of a finger that lasts so long opens the menu, in milliseconds. */
const LONG_PRESS = 550;

/**
 * @param {Stage} stage
 * @param {Menu} menu
 */
export function addPointer(stage, menu) {
  const { canvas, camera, viewer } = stage;
  const drag = dragger(stage);
  /** @type {Map<number, Position>} fingers, or the mouse, that are down */
  const down = new Map();
  /** @type {{ node: SceneNode | null, offset: Position, start: Position, moved: boolean } | null} */
  let press = null;
  let pressTimer = 0;

  /** @param {{ clientX: number, clientY: number }} event */
  function pointOf(event) {
    const box = canvas.getBoundingClientRect();
    return /** @type {Position} */ ([event.clientX - box.left, event.clientY - box.top]);
  }

  /** @param {Position} point */
  function at(point) {
    const frame = stage.frame();
    return frame && nodeAt(frame, point);
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const point = pointOf(event);
    down.set(event.pointerId, point);
    canvas.setPointerCapture(event.pointerId);
    if (down.size > 1) {
      press = null; // two fingers: pinch
      clearTimeout(pressTimer);
      return;
    }
    const node = at(point);
    const dot = node && stage.frame()?.byId.get(node.id);
    const offset = /** @type {Position} */ (dot ? [dot.x - point[0], dot.y - point[1]] : [0, 0]);
    press = { node: node && canDrag(stage, node) ? node : null, offset, start: point, moved: false };
    if (event.pointerType !== "mouse") {
      pressTimer = window.setTimeout(() => {
        press = null;
        menu.open(node, point);
      }, LONG_PRESS);
    }
  });

  canvas.addEventListener("pointermove", (event) => {
    const point = pointOf(event);
    const before = down.get(event.pointerId);
    if (!before) {
      hover(point);
      return;
    }
    if (down.size === 2) pinch(event.pointerId, before, point);
    down.set(event.pointerId, point);
    if (!press) return;
    if (!press.moved && Math.hypot(point[0] - press.start[0], point[1] - press.start[1]) < STILL) return;
    press.moved = true;
    clearTimeout(pressTimer);
    if (press.node) drag(press.node, camera.toWorld([point[0] + press.offset[0], point[1] + press.offset[1]]));
    else camera.pan(point[0] - before[0], point[1] - before[1]);
    canvas.style.cursor = "grabbing";
    stage.redraw();
  });

  /** @param {PointerEvent} event */
  function up(event) {
    clearTimeout(pressTimer);
    down.delete(event.pointerId);
    const still = press && !press.moved && event.type === "pointerup";
    press = null;
    canvas.style.cursor = "";
    if (still) click(pointOf(event));
  }
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => hover([-1e6, -1e6]));

  /** @param {Position} point */
  function click(point) {
    const frame = stage.frame();
    if (!frame) return;
    const node = nodeAt(frame, point);
    const link = node ? null : linkAt(frame, point);
    if (node) stage.pointer.focused = null;
    if (node) viewer.select({ node: node.id });
    else if (link) viewer.select({ link });
    else if (viewer.selected) viewer.select(null);
  }

  /** @param {Position} point */
  function hover(point) {
    const frame = stage.frame();
    const node = at(point);
    const over = node?.id ?? null;
    canvas.style.cursor = node || (frame && linkAt(frame, point)) ? "pointer" : "";
    canvas.title = node && viewer.scene ? nodeWords(node, viewer.scene, frame?.suspended.get(node.id)) : "";
    if (over === stage.pointer.hovered) return;
    stage.pointer.hovered = over;
    stage.redraw();
  }

  /**
   * @param {number} pointer
   * @param {Position} before
   * @param {Position} after
   */
  function pinch(pointer, before, after) {
    const other = [...down].find(([id]) => id !== pointer)?.[1];
    if (!other) return;
    const distance = (/** @type {Position} */ point) => Math.hypot(point[0] - other[0], point[1] - other[1]);
    camera.pan((after[0] - before[0]) / 2, (after[1] - before[1]) / 2);
    camera.zoom(distance(after) / Math.max(distance(before), 1), [
      (after[0] + other[0]) / 2,
      (after[1] + other[1]) / 2,
    ]);
    stage.redraw();
  }

  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const turned = (event.deltaY || event.deltaX) * (event.deltaMode === 1 ? 16 : 1);
      const range = rangeOf(viewer);
      if (event.shiftKey && range !== null && viewer.about.can.includes("range")) {
        changeRange(range * 1.0008 ** -turned);
        return;
      }
      camera.zoom(1.0015 ** -turned, pointOf(event));
      stage.redraw();
    },
    { passive: false },
  );

  /** @type {number | null} */
  let wantedRange = null;
  /** @param {number} metres the wheel turns faster than the server answers: turns add up */
  function changeRange(metres) {
    const pending = wantedRange !== null;
    wantedRange = Math.max(1, Math.round(metres * 10) / 10);
    if (pending) return;
    setTimeout(() => {
      const wanted = wantedRange;
      wantedRange = null;
      if (wanted !== null) viewer.act({ do: "range", metres: wanted }).catch(() => {});
    }, 100);
  }

  canvas.addEventListener("dblclick", (event) => {
    if (!at(pointOf(event))) stage.fit();
  });
  canvas.addEventListener("contextmenu", (event) => {
    event.preventDefault();
    const point = pointOf(event);
    const node = at(point);
    // From the keyboard it comes without a place.
    const focused = event.button === 2 ? undefined : stage.frame()?.byId.get(stage.pointer.focused ?? -1);
    if (focused) menu.open(focused.node, [focused.x, focused.y]);
    else menu.open(node, point);
  });
}
