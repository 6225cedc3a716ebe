// Lets time go by: playing at some speed, following the end of a live tape, gliding to the next step.

/** @import { Moment } from "./types.d.ts" */

/** A frame never counts for more than this, so that nothing is skipped after the page was hidden. In seconds. */
const LONGEST_FRAME = 0.1;
/** Following: so fast an error is made up for, and from this error on one jumps. In seconds of the viewer. */
const CATCH_UP = 0.3;
const JUMP_FROM = 1.5;
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
 * @property {() => { moment: Moment, rate: number, moving: boolean }} live where a live source is now, how fast it goes
 *   (in moments per second), and whether it goes on without news
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
    const wanted = this.#track.now() + seconds * this.speed * this.#track.unit();
    if (wanted >= end && !final && this.#track.now() >= end) return false; // news will wake us
    this.#track.advanceTo(Math.min(wanted, end));
    if (final && this.#track.now() >= end) this.mode = "rest";
    this.#track.changed();
    return true;
  }

  /** @param {number} seconds */
  #followOn(seconds) {
    const { moment, rate, moving } = this.#track.live();
    const now = this.#track.now();
    const behind = moment - now;
    let next = now + Math.max(0, moving ? seconds * rate : 0);
    next += (moment - next) * (1 - Math.exp(-seconds / CATCH_UP));
    if (behind > JUMP_FROM * Math.max(rate, 1)) next = moment - RUN_UP * rate;
    next = Math.max(now, Math.min(next, moment));
    if (behind < rate * 0.001) next = Math.max(now, moment);
    if (next > now || seconds === 0) {
      this.#track.advanceTo(next);
      this.#track.changed();
    }
    return moving || next < moment;
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
