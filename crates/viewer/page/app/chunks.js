// Chunks of a tape that are at hand: their records, the scene before them, and when their messages arrive.

import { applyRecord, lowerBound, recordMoment, sceneCopy } from "./scene.js";

/** @import { Chunk, ChunkInfo, Moment, Record_, Scene, UnderWay } from "./types.d.ts" */

/** How many chunks are kept: around the present one, and some where one was before. */
const KEPT = 8;
/** Fewer if they are large: so much in all, in characters of JSON. But never fewer than the present one and its
 *  neighbours. */
const MOST_WEIGHT = 24e6;
const LEAST_KEPT = 3;
/** What a message costs in memory besides the record that sent it: in a dense mesh one record sends hundreds. */
const JOURNEY_WEIGHT = 200;

/**
 * A message from its sending to its end.
 * @typedef {object} Journey
 * @property {UnderWay} message
 * @property {Moment} at when it ended
 * @property {number} line the line that ended it
 * @property {boolean} lost
 */

export class LoadedChunk {
  /** @type {(Record_ | null)[]} */
  records = [];
  /**
   * Journeys that end in this chunk, in the order of their ends.
   * @type {Journey[]}
   */
  journeys = [];
  /** How much memory it takes, about. */
  get weight() {
    return this.size + this.journeys.length * JOURNEY_WEIGHT;
  }
  /** Characters of JSON. */
  size = 0;
  /** @type {Map<string, Journey[]>} */
  #byMessage = new Map();
  /** @type {Scene} after all records */
  #tail;

  /**
   * @param {number} chunk
   * @param {number} line
   * @param {Scene} scene
   */
  constructor(chunk, line, scene) {
    this.chunk = chunk;
    this.line = line;
    this.scene = scene;
    this.#tail = sceneCopy(scene);
  }

  /** Everything after its last record. */
  get tail() {
    return sceneCopy(this.#tail);
  }

  /** The last line at hand. */
  get lastLine() {
    return this.line + this.records.length - 1;
  }

  /** @param {(Record_ | null)[]} records those that follow the last line */
  append(records) {
    for (const record of records) {
      this.records.push(record);
      const line = this.lastLine;
      const lost = record?.event === undefined;
      for (const message of applyRecord(this.#tail, line, record)) {
        const journey = { message, at: this.#tail.at, line, lost };
        this.journeys.push(journey);
        const key = messageKey(message);
        const same = this.#byMessage.get(key);
        if (same) same.push(journey);
        else this.#byMessage.set(key, [journey]);
      }
    }
  }

  /**
   * How the journey of a message goes on that is under way after `line`; undefined if it does not end in this chunk.
   * @param {UnderWay} message
   * @param {number} line
   * @param {number} [nth] of several that were sent to the same node in one line
   */
  journeyOf(message, line, nth = 0) {
    return this.#byMessage.get(messageKey(message))?.filter((journey) => journey.line > line)[nth];
  }

  /** @param {number} line */
  recordAt(line) {
    return this.records[line - this.line] ?? null;
  }

  /**
   * The scene after a line of this chunk (or the line before it).
   * @param {number} line
   */
  sceneAt(line) {
    const scene = sceneCopy(this.scene);
    this.advance(scene, line);
    return scene;
  }

  /**
   * Takes a scene of this chunk further, up to a line.
   * @param {Scene} scene
   * @param {number} line
   */
  advance(scene, line) {
    const last = Math.min(line, this.lastLine);
    for (let next = Math.max(scene.line + 1, this.line); next <= last; next++) {
      applyRecord(scene, next, this.records[next - this.line]);
    }
  }

  /**
   * The last line at or before a moment; the line before this chunk if all are later.
   * @param {Moment} moment
   */
  lineAt(moment) {
    // Blank lines have no moment: they belong to the record before them.
    let at = 0;
    let high = this.records.length;
    while (at < high) {
      const middle = (at + high) >> 1;
      let probe = middle;
      while (probe >= at && !this.records[probe]) probe--;
      const record = probe >= at ? this.records[probe] : null;
      if (!record || recordMoment(record) <= moment) at = middle + 1;
      else high = probe;
    }
    return this.line + at - 1;
  }
}

/** @param {UnderWay} message */
function messageKey(message) {
  return `${message.line} ${message.from} ${message.to}`;
}

/** The chunks of one tape. The least recently used are forgotten. */
export class Chunks {
  /** @type {ChunkInfo[]} */
  infos = [];
  #fetch;
  /** @type {Map<number, LoadedChunk>} in the order of use */
  #loaded = new Map();
  /** @type {Map<number, Promise<LoadedChunk>>} */
  #pending = new Map();

  /** @param {(chunk: number, after?: number) => Promise<Chunk>} fetch */
  constructor(fetch) {
    this.#fetch = fetch;
  }

  /**
   * The chunk that has a line; the nearest one if none has.
   * @param {number} line
   */
  infoOfLine(line) {
    const after = lowerBound(this.infos, (info) => info.line <= line);
    return this.infos[Math.max(after - 1, 0)];
  }

  /**
   * The chunk that has the last record at or before a moment; the first one if there is none.
   * @param {Moment} moment
   */
  infoOfMoment(moment) {
    const after = lowerBound(this.infos, (info) => info.from <= moment);
    return this.infos[Math.max(after - 1, 0)];
  }

  /** @param {number} line */
  indexOfLine(line) {
    return Math.max(lowerBound(this.infos, (info) => info.line <= line) - 1, 0);
  }

  /**
   * A chunk, if it is at hand; perhaps without its newest records.
   * @param {ChunkInfo | undefined} info
   * @returns {LoadedChunk | undefined}
   */
  peek(info) {
    const chunk = info && this.#loaded.get(info.chunk);
    if (info && chunk) {
      this.#loaded.delete(info.chunk);
      this.#loaded.set(info.chunk, chunk);
    }
    return chunk;
  }

  /**
   * A chunk with all records that `info` promises, fetched if need be.
   * @param {ChunkInfo} info
   * @returns {Promise<LoadedChunk>}
   */
  async load(info) {
    const known = this.peek(info);
    if (known && known.records.length >= info.records) return known;
    const pending = this.#pending.get(info.chunk) ?? this.#load(info, known);
    this.#pending.set(info.chunk, pending);
    try {
      return await pending;
    } finally {
      this.#pending.delete(info.chunk);
    }
  }

  /**
   * All records of some lines, the last included.
   * @param {number} from
   * @param {number} to
   */
  async records(from, to) {
    /** @type {{ line: number, record: Record_ }[]} */
    const found = [];
    for (const info of this.infos) {
      if (info.line > to || info.line + info.records <= from) continue;
      const chunk = await this.load(info);
      for (let line = Math.max(from, chunk.line); line <= Math.min(to, chunk.lastLine); line++) {
        const record = chunk.recordAt(line);
        if (record) found.push({ line, record });
      }
    }
    return found;
  }

  /**
   * @param {ChunkInfo} info
   * @param {LoadedChunk | undefined} known
   */
  async #load(info, known) {
    const number = info.chunk;
    const follows = known ? undefined : await this.#before(info);
    const answer = await this.#fetch(number, known?.lastLine ?? follows?.lastLine);
    let chunk = known;
    const scene = answer.scene ?? (follows?.lastLine === answer.line - 1 ? follows.tail : null);
    if (scene && !chunk) {
      chunk = new LoadedChunk(number, answer.line, scene);
    } else if (!chunk || answer.line > chunk.lastLine + 1) {
      throw new Error(`Chunk ${number} came without what stands before it`);
    }
    // Records may come twice if the answer begins before the line that was asked for.
    chunk.append(answer.records.slice(chunk.lastLine + 1 - answer.line));
    chunk.size += answer.size ?? 0;
    this.#loaded.delete(number);
    this.#loaded.set(number, chunk);
    this.#forget();
    return chunk;
  }

  /**
   * The chunk before, complete, if most of it is at hand anyway. Then the scene between the two need not be told, which can
   * be larger than what follows.
   * @param {ChunkInfo} info
   */
  async #before(info) {
    const before = this.infos.find(({ chunk }) => chunk === info.chunk - 1);
    if (!before || !this.#loaded.has(before.chunk)) return undefined;
    const chunk = await this.load(before);
    return chunk.lastLine === info.line - 1 ? chunk : undefined;
  }

  /** Forgets what was not used for longest, if there is too much. */
  #forget() {
    let weight = 0;
    for (const chunk of this.#loaded.values()) weight += chunk.weight;
    for (const [number, chunk] of this.#loaded) {
      const many = this.#loaded.size > KEPT || (this.#loaded.size > LEAST_KEPT && weight > MOST_WEIGHT);
      if (!many) return;
      weight -= chunk.weight;
      this.#loaded.delete(number);
    }
  }
}
