// Where every node is: by the trace, or by the layout where the trace has no places, or where the user has put it.

import { isSameMember } from "../census.js";
import { HOP, layout } from "./layout.js";
import { areaOf } from "./look.js";

/** @import { NodeId, Position, Scene, SceneNode, Viewer } from "../types.d.ts" */
/** @import { Box } from "./camera.js" */

/** The layout looks so many lines ahead for nodes that join and links that come up: recordings begin with one node. */
const LOOK_AHEAD = 2000;
/** Up to so many nodes everything is laid out anew when another one joins. */
const LAID_ANEW = 300;

/** So long a node stays where it was dragged before the word of the server counts again, in milliseconds. */
const PATIENCE = 1500;

export class Places {
  #viewer;
  /** @type {Map<NodeId, Position>} by the layout */
  #laid = new Map();
  /** The layout knew of no links. */
  #linkless = false;
  /** The user has put nodes somewhere: they stay there. */
  #arranged = false;
  /** What the layout was made for. */
  #madeFor = "";
  /** @type {Map<NodeId, { place: Position, until: number }>} */
  #dragged = new Map();

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.#viewer = viewer;
  }

  /**
   * Whether nodes have places in the world. Otherwise dragging one only moves its picture.
   * @returns {boolean}
   */
  get real() {
    return this.#viewer.scene?.nodes.some((node) => node.position) ?? false;
  }

  /**
   * Makes the layout if it is needed and missing.
   * @returns {boolean} whether everything is somewhere else now
   */
  update() {
    const { scene, summary } = this.#viewer;
    if (!scene || !summary) return false;
    const kind = this.real ? "real" : `${summary.header.protocol} ${JSON.stringify(summary.header.links)}`;
    const key = `${this.#viewer.tape} ${kind} ${summary.header.nodes.map((node) => node.id)}`;
    const fresh = key !== this.#madeFor;
    if (fresh) {
      this.#madeFor = key;
      this.#laid.clear();
      this.#dragged.clear();
      this.#arranged = false;
    }
    // A node that came back after a crash stands where it stood.
    for (const { id } of scene.nodes) {
      const former = this.#laid.has(id) ? undefined : [...this.#laid.keys()].find((old) => isSameMember(old, id));
      if (former === undefined) continue;
      this.#laid.set(id, /** @type {Position} */ (this.#laid.get(former)));
      this.#laid.delete(former);
    }
    const missing = scene.nodes.filter((node) => !node.position && !this.#laid.has(node.id));
    const unlinked = this.#linkless && scene.links.length > 0 && !this.real;
    if (missing.length === 0 && !unlinked) return fresh;
    if (this.#laid.size === 0 || unlinked || (this.#laid.size < LAID_ANEW && !this.#arranged)) {
      this.#layAll(scene);
      return true;
    }
    for (const node of missing) this.#laid.set(node.id, this.#besideNeighbours(node.id));
    return fresh;
  }

  /** @param {Scene} scene */
  #layAll(scene) {
    const ids = new Set(scene.nodes.map((node) => node.id));
    const links = [...scene.links];
    for (let line = scene.line + 1; line <= scene.line + LOOK_AHEAD; line++) {
      const record = this.#viewer.recordAt(line);
      if (record?.join) ids.add(record.join.id);
      if (record?.link?.up) links.push(record.link.between);
    }
    // Later incarnations of a node need no place of their own.
    const sorted = [...ids]
      .sort((a, b) => a - b)
      .filter((id, at, all) => !all.slice(0, at).some((o) => isSameMember(o, id)));
    this.#linkless = links.length === 0;
    this.#laid = layout(sorted, links.length > 0 ? links : knownNeighbours(scene.nodes));
  }

  /**
   * @param {SceneNode} node
   * @param {number} [time] milliseconds
   * @returns {Position}
   */
  of(node, time = performance.now()) {
    const dragged = this.#dragged.get(node.id);
    if (dragged && time < dragged.until) return dragged.place;
    return this.#viewer.positionOf(node) ?? this.#laid.get(node.id) ?? [0, 0];
  }

  /**
   * The user drags a node to a place.
   * @param {SceneNode} node
   * @param {Position} place
   */
  drag(node, place) {
    if (node.position) this.#dragged.set(node.id, { place, until: performance.now() + PATIENCE });
    else {
      this.#laid.set(node.id, place);
      this.#arranged = true;
    }
  }

  /** Links need not be longer than this on the screen: few nodes then stand together. In pixels. */
  get nearest() {
    return this.real ? Number.POSITIVE_INFINITY : 260 / HOP;
  }

  /** @returns {Box} everything there is */
  box() {
    const area = this.real ? areaOf(this.#viewer.summary?.header) : null;
    const box = area
      ? { left: 0, top: 0, right: area[0], bottom: area[1] }
      : {
          left: Number.POSITIVE_INFINITY,
          top: Number.POSITIVE_INFINITY,
          right: Number.NEGATIVE_INFINITY,
          bottom: Number.NEGATIVE_INFINITY,
        };
    const places = this.real ? (this.#viewer.scene?.nodes ?? []).map((node) => this.of(node)) : this.#laid.values();
    for (const [x, y] of places) {
      box.left = Math.min(box.left, x);
      box.right = Math.max(box.right, x);
      box.top = Math.min(box.top, y);
      box.bottom = Math.max(box.bottom, y);
    }
    if (!Number.isFinite(box.left)) return { left: 0, top: 0, right: 1, bottom: 1 };
    // One node, or a line of them, still has some room around it.
    const least = this.real ? 1 : HOP * 1.5;
    for (const [low, high] of /** @type {const} */ ([
      ["left", "right"],
      ["top", "bottom"],
    ])) {
      const lack = Math.max(0, least - (box[high] - box[low])) / 2;
      box[low] -= lack;
      box[high] += lack;
    }
    return box;
  }

  /** @param {NodeId} id */
  #besideNeighbours(id) {
    const near = (this.#viewer.scene?.links ?? []).filter((link) => link.includes(id)).flat();
    const beside = near.some((other) => this.#laid.has(other));
    let [x, y, count] = [0, 0, 0];
    for (const [other, place] of this.#laid) {
      if (beside && !near.includes(other)) continue;
      x += place[0];
      y += place[1];
      count++;
    }
    const angle = id * 2.4;
    return /** @type {Position} */ ([
      x / Math.max(count, 1) + HOP * Math.cos(angle),
      y / Math.max(count, 1) + HOP * Math.sin(angle),
    ]);
  }
}

/**
 * Links as the nodes themselves know them, where the trace does not tell.
 * @param {SceneNode[]} nodes
 * @returns {[NodeId, NodeId][]}
 */
function knownNeighbours(nodes) {
  return nodes.flatMap((node) =>
    (node.view?.neighbours ?? []).map((other) => /** @type {[NodeId, NodeId]} */ ([node.id, other])),
  );
}
