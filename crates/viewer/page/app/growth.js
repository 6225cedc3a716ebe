// How a tape that grows is kept up with, and where its end is between two pieces of news.

/** @import { About, Moment, Playing, Summary, Update } from "./types.d.ts" */

/** Without news for longer than this nothing is supposed to go on, in milliseconds. */
const LONGEST_SILENCE = 600;
/** The real speed of a simulation is measured over so many milliseconds. */
const MEASURED = 2000;

/**
 * Writes into a summary what an update tells, if it tells enough: only the last chunk grew.
 * @param {Summary} summary
 * @param {Update["tapes"][number]} news
 * @param {number} chunks how many there were by the update before
 * @returns {boolean} false if the summary must be fetched anew
 */
export function extend(summary, news, chunks) {
  const last = summary.chunks.at(-1);
  if (!last || news.chunks !== chunks || !news.grows || news.read !== summary.read) return false;
  last.records = news.lines - last.line + 1;
  last.to = news.last;
  summary.lines = news.lines;
  summary.last = news.last;
  return true;
}

/**
 * Whether an update says what the summary says already.
 * @param {Summary} summary
 * @param {Update["tapes"][number]} news
 */
export function isKnown(summary, news) {
  return news.lines === summary.lines && news.grows === summary.grows && news.read === summary.read;
}

/**
 * How many seconds of the tape go by in a second of the viewer, at a live source.
 * @param {Playing | null} live null for a mesh, which goes as fast as it goes
 */
export function liveSpeed(live) {
  if (!live) return 1;
  return live.paused ? 0 : live.speed;
}

/**
 * The clock of a live mesh, which goes on whether or not there is news. News takes a while to come, so of all that was
 * heard the latest counts.
 */
export class MeshClock {
  #ahead = Number.NEGATIVE_INFINITY;

  /**
   * @param {Moment} moment the mesh was there, or farther
   * @param {number} at milliseconds
   */
  heard(moment, at) {
    this.#ahead = Math.max(this.#ahead, moment - at * 1e6);
  }

  /** @param {number} at milliseconds @returns {Moment} */
  now(at) {
    return this.#ahead + at * 1e6;
  }
}

/**
 * Where a live source is now: where it was by the last news, and on from there.
 * @param {Summary | null} summary
 * @param {Playing | null} live
 * @param {number} silence since the last news, in milliseconds
 * @param {About["source"]} source
 * @returns {{ moment: Moment, known: Moment, rate: number, pace: number, moving: boolean }} `known`: it has certainly
 *   come so far; `rate` and `pace` in moments per second: how
 *   fast it goes, and how fast it would if it did not rest
 */
export function liveMoment(summary, live, silence, source) {
  const unit = summary?.clock === "step" ? 1 : 1e9;
  const rate = liveSpeed(live) * unit;
  const pace = (live?.speed || 1) * unit;
  const known = Math.max(live?.now ?? 0, summary?.last ?? 0);
  const moving = rate > 0 && silence < LONGEST_SILENCE;
  const moment = known + (rate * Math.min(silence, LONGEST_SILENCE)) / 1000;
  // A mesh lives on whether or not there is news. A simulation may be slower than it should: it is not ahead of its news.
  return { moment, known: source === "sim" ? known : moment, rate, pace, moving };
}

/** How fast a simulation really goes: told by where it was some seconds ago. */
export class Speedometer {
  /** @type {{ at: number, now: Moment }[]} */
  #marks = [];
  #last = "";

  /**
   * Takes the latest news.
   * @param {Playing | null} live
   * @param {number} at milliseconds
   * @returns {number | null} simulated seconds per second; null if that is not known (yet)
   */
  take(live, at) {
    const state = `${live?.paused} ${live?.speed}`;
    if (!live || live.paused || state !== this.#last) this.#marks = [];
    this.#last = state;
    if (!live || live.paused) return null;
    this.#marks.push({ at, now: live.now });
    while (this.#marks.length > 2 && this.#marks[1].at <= at - MEASURED) this.#marks.shift();
    const first = this.#marks[0];
    return at - first.at < MEASURED ? null : (live.now - first.now) / 1e6 / (at - first.at);
  }
}
