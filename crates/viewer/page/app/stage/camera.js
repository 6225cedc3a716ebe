// From places in the world (metres, y down as on the screen) to points of the canvas (CSS pixels), and back.

/** @import { Position } from "../types.d.ts" */

/** @typedef {{ left: number, top: number, right: number, bottom: number }} Box */

/** So much is left free around what is fitted in, in pixels: glow, names and queues stand there. */
const MARGIN = 64;
/** One may come so near, and go so far, compared with everything fitted in. */
const NEAREST = 40;
const FARTHEST = 0.2;

export class Camera {
  width = 1;
  height = 1;
  scale = 1;
  /** The user has moved it: it does not move by itself any more. */
  touched = false;
  #x = 0;
  #y = 0;
  #fitted = 1;

  /** @param {Position} place */
  toScreen([x, y]) {
    return /** @type {Position} */ ([
      (x - this.#x) * this.scale + this.width / 2,
      (y - this.#y) * this.scale + this.height / 2,
    ]);
  }

  /** @param {Position} point */
  toWorld([x, y]) {
    return /** @type {Position} */ ([
      (x - this.width / 2) / this.scale + this.#x,
      (y - this.height / 2) / this.scale + this.#y,
    ]);
  }

  /**
   * Shows all of a box.
   * @param {Box} box
   * @param {number} [nearest] the scale that is not gone beyond
   */
  fit(box, nearest = Number.POSITIVE_INFINITY) {
    const wide = Math.max(box.right - box.left, 1e-9);
    const high = Math.max(box.bottom - box.top, 1e-9);
    const margin = Math.min(MARGIN, this.width * 0.15, this.height * 0.15);
    this.scale = Math.min((this.width - 2 * margin) / wide, (this.height - 2 * margin) / high, nearest);
    this.#fitted = this.scale;
    this.#x = (box.left + box.right) / 2;
    this.#y = (box.top + box.bottom) / 2;
    this.touched = false;
  }

  /**
   * What of the world is in the picture, but for so many pixels at its edges.
   * @param {number} edge
   * @returns {Box}
   */
  box(edge) {
    const [left, top] = this.toWorld([edge, edge]);
    const [right, bottom] = this.toWorld([this.width - edge, this.height - edge]);
    return { left, top, right, bottom };
  }

  /**
   * By pixels.
   * @param {number} dx
   * @param {number} dy
   */
  pan(dx, dy) {
    this.#x -= dx / this.scale;
    this.#y -= dy / this.scale;
    this.touched = true;
  }

  /**
   * The point stays where it is.
   * @param {number} factor
   * @param {Position} [point]
   */
  zoom(factor, point = [this.width / 2, this.height / 2]) {
    const before = this.toWorld(point);
    this.scale = Math.min(this.#fitted * NEAREST, Math.max(this.#fitted * FARTHEST, this.scale * factor));
    const after = this.toWorld(point);
    this.#x += before[0] - after[0];
    this.#y += before[1] - after[1];
    this.touched = true;
  }

  /**
   * Brings a place into the picture, if it is not there.
   * @param {Position} place
   */
  reveal(place) {
    const [x, y] = this.toScreen(place);
    const margin = MARGIN / 2;
    if (x > margin && y > margin && x < this.width - margin && y < this.height - margin) return;
    this.pan(this.width / 2 - x, this.height / 2 - y);
  }
}
