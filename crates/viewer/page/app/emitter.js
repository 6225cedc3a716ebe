// Who listens to the viewer, and how it tells the user something.

import { Problem } from "./server.js";

/** @import { ViewerEvents } from "./types.d.ts" */

export class Emitter {
  /** @type {{ [K in keyof ViewerEvents]: Set<ViewerEvents[K]> }} */
  #listeners = {
    moment: new Set(),
    summary: new Set(),
    figures: new Set(),
    selection: new Set(),
    transport: new Set(),
    about: new Set(),
    check: new Set(),
    server: new Set(),
    notice: new Set(),
  };

  /**
   * @template {keyof ViewerEvents} K
   * @param {K} name
   * @param {ViewerEvents[K]} listener
   */
  on(name, listener) {
    this.#listeners[name].add(listener);
  }

  /** @param {Exclude<keyof ViewerEvents, "notice">} name */
  emit(name) {
    for (const listener of this.#listeners[name]) listener();
  }

  /**
   * @param {string} text
   * @param {"info" | "error"} [kind]
   */
  notice(text, kind = "info") {
    for (const listener of this.#listeners.notice) listener({ text, kind });
  }

  /**
   * Tells the user what went wrong instead of failing.
   * @template T
   * @param {Promise<T> | undefined} attempt
   * @returns {Promise<T | undefined>}
   */
  async tried(attempt) {
    try {
      return await attempt;
    } catch (problem) {
      this.wentWrong(problem);
      return undefined;
    }
  }

  /** @param {unknown} problem */
  wentWrong(problem) {
    // A server that does not answer is a passing problem: the badge shows it as long as it lasts.
    const passing = problem instanceof Problem && problem.status === 0;
    this.notice(problem instanceof Error ? problem.message : String(problem), passing ? "info" : "error");
  }
}

/**
 * Something that is done at once when it is wanted, but not too often.
 * @param {() => void} run
 * @param {(callback: () => void) => unknown} pause calls back when it may be done again
 * @returns {() => void} says that it is wanted
 */
export function throttle(run, pause) {
  let wanted = false;
  let resting = false;
  function attempt() {
    if (!wanted || resting) return;
    wanted = false;
    resting = true;
    pause(() => {
      resting = false;
      attempt();
    });
    run();
  }
  return () => {
    wanted = true;
    attempt();
  };
}
