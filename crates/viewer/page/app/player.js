// Lets time go by: playing at some speed, following the end of a live tape, gliding to the next step.

import { MOST_LATE, paced } from "./pace.js";

/** @import { Moment } from "./types.d.ts" */

/** A frame never counts for more than this, so that nothing is skipped after the page was hidden. In seconds. */
const LONGEST_FRAME = 0.1;
/** Following is so late by intent: news needs a while, and what happened must be known before it is shown. In seconds of
 *  the viewer. */
const DELAY = 0.2;
/** Later than this (the page was hidden, or nothing happened for long) one jumps. In seconds of the viewer. */
const JUMP_FROM = MOST_LATE + 1;
/** A jump goes so far before the end, so that what just happened is seen. In seconds of the viewer. */
const RUN_UP = 0.3;
/** How long a glide takes, in seconds. */
const GLIDE = 0.45;

/**
 * What moves, seen from the player.
 * @typedef {object} Track
 * @property {() => Moment} now
 * @property {(moment: Moment) => boolean} advanceTo false if what is needed is not at hand yet
 * @property {() => { moment: Moment, final: boolean }} end the last moment, and whether nothing can follow
 * @property {() => { moment: Moment, known: Moment, rate: number, pace: number, moving: boolean }} live where a live source
 *   is now, how far it has certainly come, how fast it goes (in moments per second), how fast it would if it did not rest,
 *   and whether it goes on without news
 * @property {(from: Moment, to: Moment) => import("./pace.js").Span[]} flights messages that end after the first moment
 *   and begin before the second
 * @property {() => number} unit moments in a second (or step) of the tape
 * @property {() => void} changed the moment or what plays changed
 */

export class Player {
  /** @type {"rest" | "play" | "follow" | "glide"} */
  mode = "rest";
  speed = 1;
  #track;
  #requestFrame;
  #scheduled = false;
  #last = 0;
  /** Playing: where it would be at its usual rate, and where it was led to last. @type {{ at: Moment, shown: Moment } | null} */
  #lead = null;
  /** @type {{ from: Moment, to: Moment, part: number, done: () => void } | null} */
  #glide = null;

  /**
   * @param {Track} track
   * @param {(callback: (time: number) => void) => unknown} requestFrame
   */
  constructor(track, requestFrame) {
    this.#track = track;
    this.#requestFrame = requestFrame;
  }

  /** @param {"rest" | "play" | "follow"} mode */
  set(mode) {
    this.#endGlide();
    this.#lead = null;
    this.mode = mode;
    this.wake();
  }

  /**
   * Goes to a later moment within a fraction of a second.
   * @param {Moment} to
   * @returns {Promise<void>} when it is there, or something else began
   */
  glide(to) {
    this.#endGlide();
    this.mode = "glide";
    return new Promise((resolve) => {
      this.#glide = { from: this.#track.now(), to, part: 0, done: resolve };
      this.wake();
    });
  }

  /** Something changed: go on with the next frame if there is anything to do. */
  wake() {
    if (this.#scheduled || this.mode === "rest") return;
    this.#scheduled = true;
    this.#last = 0;
    this.#requestFrame((time) => this.#frame(time));
  }

  /** @param {number} time in milliseconds */
  #frame(time) {
    this.#scheduled = false;
    const seconds = this.#last === 0 ? 0 : Math.min(LONGEST_FRAME, (time - this.#last) / 1000);
    this.#last = time;
    const goesOn =
      this.mode === "play"
        ? this.#playOn(seconds)
        : this.mode === "follow"
          ? this.#followOn(seconds)
          : this.mode === "glide" && this.#glideOn(seconds);
    if (!goesOn || this.mode === "rest" || this.#scheduled) return;
    this.#scheduled = true;
    this.#requestFrame((next) => this.#frame(next));
  }

  /** @param {number} seconds */
  #playOn(seconds) {
    const { moment: end, final } = this.#track.end();
    const now = this.#track.now();
    if (now >= end && !final) return false; // news will wake us
    const rate = this.speed * this.#track.unit();
    // The user may have gone elsewhere since the last frame.
    const from = this.#lead?.shown === now ? this.#lead.at : now;
    const lead = Math.min(from + seconds * rate, end);
    const next = paced(now, lead, seconds, rate, this.#track.flights);
    if (this.#track.advanceTo(next)) this.#lead = { at: lead, shown: next };
    if (final && this.#track.now() >= end) this.mode = "rest";
    this.#track.changed();
    return true;
  }

  /** @param {number} seconds */
  #followOn(seconds) {
    const { moment, known, rate, pace, moving } = this.#track.live();
    const goal = Math.min(moment - DELAY * rate, known);
    const now = this.#track.now();
    let next = now;
    if (goal - now > JUMP_FROM * pace) next = goal - RUN_UP * pace;
    else if (goal > now) next = paced(now, goal, seconds, pace, this.#track.flights);
    if (next > now || seconds === 0) {
      this.#track.advanceTo(next);
      this.#track.changed();
    }
    return moving || next < goal;
  }

  /** @param {number} seconds */
  #glideOn(seconds) {
    const glide = this.#glide;
    if (!glide) return false;
    glide.part = Math.min(1, glide.part + seconds / GLIDE);
    // Slow at both ends, so that the eye can follow.
    const eased = glide.part * glide.part * (3 - 2 * glide.part);
    this.#track.advanceTo(glide.from + (glide.to - glide.from) * eased);
    if (glide.part >= 1) {
      this.mode = "rest";
      this.#endGlide();
    }
    this.#track.changed();
    return true;
  }

  #endGlide() {
    const glide = this.#glide;
    this.#glide = null;
    if (this.mode === "glide") this.mode = "rest";
    glide?.done();
  }
}
