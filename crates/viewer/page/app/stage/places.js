// Where every node is: by the trace, or by the layout where the trace has no places, or where the user has put it.

import { isSameMember } from "../census.js";
import { HOP, layout, placeFor } from "./layout.js";
import { areaOf } from "./look.js";

/** @import { NodeId, Position, Scene, SceneNode, Viewer } from "../types.d.ts" */
/** @import { Box, Camera } from "./camera.js" */

/** The layout looks so many lines ahead for nodes that join and links that come up: recordings begin with one node. */
const LOOK_AHEAD = 2000;
/** A mesh is forming for so long, in nanoseconds: until then everything is laid out anew when a node joins. Later ones find
 *  a place among the others, which stay where they are. */
const FORMING = 5e9;
/** Of more nodes none is laid out twice. */
const LAID_ANEW = 300;
/** Nearer than this to the edge of the picture, in pixels, a node is cut off. */
const EDGE = 20;

/** So long a node stays where it was dragged before the word of the server counts again, in milliseconds. */
const PATIENCE = 1500;

export class Places {
  #viewer;
  /** @type {Map<NodeId, Position>} by the layout */
  #laid = new Map();
  /** Those that found a place before they had a link. @type {Set<NodeId>} */
  #loose = new Set();
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
   * @param {Camera} camera
   * @returns {boolean} whether everything is somewhere else now
   */
  update(camera) {
    const { scene, summary } = this.#viewer;
    if (!scene || !summary) return false;
    const kind = this.real ? "real" : `${summary.header.protocol} ${JSON.stringify(summary.header.links)}`;
    const key = `${this.#viewer.tape} ${kind} ${summary.header.nodes.map((node) => node.id)}`;
    const fresh = key !== this.#madeFor;
    if (fresh) {
      this.#madeFor = key;
      this.#laid.clear();
      this.#dragged.clear();
      this.#loose.clear();
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
    const linked = new Set(this.#loose.size > 0 || missing.length > 0 ? scene.links.flat() : []);
    const found = [...this.#loose].filter((id) => linked.has(id));
    if (missing.length === 0 && found.length === 0 && !unlinked) return fresh;
    const forming = summary.clock === "time_ns" && scene.at < FORMING && this.#laid.size < LAID_ANEW;
    if (this.#laid.size === 0 || unlinked || (forming && !this.#arranged)) {
      this.#loose.clear();
      this.#layAll(scene);
      return true;
    }
    for (const id of [...found, ...missing.map((node) => node.id)]) {
      this.#laid.delete(id);
      this.#laid.set(id, placeFor(id, this.#laid, scene.links, camera.box(2 * EDGE)));
      if (linked.has(id)) this.#loose.delete(id);
      else this.#loose.add(id);
    }
    return fresh;
  }

  /**
   * Whether no node is cut off by the edge of the picture.
   * @param {Camera} camera
   */
  within(camera) {
    if (this.real) return true;
    return [...this.#laid.values()].every((place) => {
      const [x, y] = camera.toScreen(place);
      return x > EDGE && y > EDGE && x < camera.width - EDGE && y < camera.height - EDGE;
    });
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
    return this.real ? Number.POSITIVE_INFINITY : 340 / HOP;
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
