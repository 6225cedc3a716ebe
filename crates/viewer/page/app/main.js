// Puts the page together.

import { exported } from "./exported.js";
import { panels } from "./panels/index.js";
import { Server, takeToken } from "./server.js";
import { stage } from "./stage/index.js";
import { TapeViewer } from "./viewer.js";

/** @import { Surroundings } from "./types.d.ts" */

async function main() {
  const data = document.querySelector("#exported")?.textContent;
  // What was seen of another run of the program is not true of this one: nothing of it is kept.
  const live = data ? null : new Server({ token: takeToken(window), replaced: () => location.reload() });
  const server = live ?? exported(JSON.parse(data ?? ""));
  const about = await server.about();
  const viewer = new TapeViewer(about, inBrowser(server));
  document.title = `${about.title} – meshlock`;
  stage(viewer, /** @type {HTMLElement} */ (document.querySelector("#stage")));
  panels(viewer, document);
  addEventListener("popstate", () => viewer.addressChanged());
  // For tests in a browser, and for the curious in its console.
  Object.assign(window, { viewer });

  await viewer.begin();
  live?.listen(
    (update) => viewer.updated(update),
    (reachable, why) => viewer.serverIs(reachable, why),
  );
}

/**
 * The surroundings of the viewer in a browser.
 * @param {Surroundings["server"]} server
 * @returns {Surroundings}
 */
function inBrowser(server) {
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
      replace: (hash) => history.replaceState(null, "", hash || location.pathname + location.search),
    },
  };
}

main().catch((problem) => {
  // Nothing is there yet that could show a notice.
  const words = document.createElement("p");
  words.className = "fatal";
  words.setAttribute("role", "alert");
  words.textContent = problem instanceof Error ? problem.message : String(problem);
  document.body.prepend(words);
});
