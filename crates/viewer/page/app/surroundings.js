// What the viewer needs of the page around it; tests have others.

/** @import { Server } from "./server.js" */

/**
 * @typedef {object} Surroundings
 * @property {Pick<Server, "about" | "summary" | "chunk" | "next" | "find" | "figures" | "act" | "overview" | "place">} server
 * @property {(callback: (time: number) => void) => unknown} requestFrame
 * @property {() => number} milliseconds
 * @property {(callback: () => void, ms: number) => unknown} later
 * @property {() => boolean} calm whether the user wants as little motion as possible
 * @property {{ hash: () => string, push: (hash: string) => void, replace: (hash: string) => void }} address
 */

/**
 * Those of a page in a browser.
 * @param {Surroundings["server"]} server
 * @returns {Surroundings}
 */
export function inBrowser(server) {
  return {
    server,
    requestFrame: (callback) => requestAnimationFrame(callback),
    milliseconds: () => performance.now(),
    later: (callback, ms) => setTimeout(callback, ms),
    calm: () => matchMedia("(prefers-reduced-motion: reduce)").matches,
    address: {
      hash: () => location.hash,
      push: (hash) => {
        if (hash !== location.hash) history.pushState(null, "", hash);
      },
      replace: (hash) => history.replaceState(null, "", hash),
    },
  };
}
