// Where in a tape one is: the scene after some line, and the moment that is shown.

import { sceneFromHeader } from "./scene.js";

/** @import { Moment, Record_, Scene, Summary } from "./types.d.ts" */
/** @import { Chunks, LoadedChunk } from "./chunks.js" */

export class Cursor {
  /** @type {Scene} */
  scene;
  /** @type {Moment} */
  now = 0;
  /** @type {LoadedChunk | undefined} */
  #chunk;
  /** Of several moves that wait for their chunks only the last is made. */
  #ticket = 0;

  /**
   * @param {Chunks} chunks
   * @param {() => Summary} summary
   */
  constructor(chunks, summary) {
    this.chunks = chunks;
    this.summary = summary;
    this.scene = sceneFromHeader(summary().header);
  }

  /** The line before the first record that can be had. */
  get firstLine() {
    return (this.chunks.infos[0]?.line ?? 2) - 1;
  }

  /**
   * @param {number} line
   * @returns {Promise<boolean>} false if another move came in between
   */
  async toLine(line) {
    const ticket = ++this.#ticket;
    const wanted = Math.max(this.firstLine, Math.min(line, this.summary().lines));
    const chunk = await this.#load(this.chunks.infoOfLine(wanted));
    if (ticket !== this.#ticket) return false;
    if (chunk) this.#settle(chunk, wanted);
    this.now = this.scene.at;
    return true;
  }

  /**
   * @param {Moment} moment
   * @returns {Promise<boolean>} false if another move came in between
   */
  async toMoment(moment) {
    const ticket = ++this.#ticket;
    const chunk = await this.#load(this.chunks.infoOfMoment(moment));
    if (ticket !== this.#ticket) return false;
    if (chunk) this.#settle(chunk, chunk.lineAt(moment));
    this.now = Math.max(moment, this.scene.at);
    return true;
  }

  /**
   * Goes on to a moment if everything for that is at hand. Otherwise it stays, and what is missing is fetched.
   * @param {Moment} moment
   */
  advanceTo(moment) {
    const info = this.chunks.infoOfMoment(moment);
    const chunk = this.chunks.peek(info);
    if (info && (!chunk || (chunk.records.length < info.records && chunk.lineAt(moment) === chunk.lastLine))) {
      this.#load(info).catch(() => {}); // tried again with the next frame
      return false;
    }
    this.#ticket++;
    if (chunk) this.#settle(chunk, chunk.lineAt(moment));
    this.now = moment;
    this.#prefetch();
    return true;
  }

  /**
   * The next line, or the last one before, whose record shows something. Moves only carry nodes on.
   * @param {1 | -1} by
   * @returns {Promise<number>}
   */
  async shownLine(by) {
    const { lines } = this.summary();
    for (let line = this.scene.line + by; line > this.firstLine && line <= lines; line += by) {
      const chunk = await this.#load(this.chunks.infoOfLine(line));
      const record = chunk?.recordAt(line);
      if (record && !record.move) return line;
    }
    return by > 0 ? lines : this.firstLine;
  }

  /**
   * @param {number} line
   * @returns {Record_ | null}
   */
  recordAt(line) {
    const info = this.chunks.infoOfLine(line);
    return this.chunks.peek(info)?.recordAt(line) ?? null;
  }

  /**
   * The chunks before, at and after the present line, as far as they are at hand.
   * @returns {(LoadedChunk | undefined)[]}
   */
  around() {
    const { infos } = this.chunks;
    const here = this.chunks.indexOfLine(this.scene.line);
    return [here - 1, here, here + 1].map((index) => this.chunks.peek(infos[index]));
  }

  /**
   * @param {LoadedChunk} chunk
   * @param {number} line
   */
  #settle(chunk, line) {
    if (chunk === this.#chunk && this.scene.line <= line) chunk.advance(this.scene, line);
    else if (chunk !== this.#chunk || this.scene.line !== line) this.scene = chunk.sceneAt(line);
    this.#chunk = chunk;
  }

  /** Fetches the next chunk when the present one is half over, so that playing does not stop at its end. */
  #prefetch() {
    const index = this.chunks.indexOfLine(this.scene.line);
    const here = this.chunks.infos[index];
    const next = this.chunks.infos[index + 1];
    if (next && this.scene.line > here.line + here.records / 2 && !this.chunks.peek(next)) {
      this.#load(next).catch(() => {}); // asked for again when it is needed
    }
  }

  /** @param {import("./types.d.ts").ChunkInfo | undefined} info */
  async #load(info) {
    return info && this.chunks.load(info);
  }
}
