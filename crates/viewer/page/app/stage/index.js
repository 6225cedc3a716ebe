// The picture of the mesh: nodes, links, the token and messages, on a canvas.

import { h } from "../panels/dom.js";
import { Camera } from "./camera.js";
import { drawFlights } from "./draw-flights.js";
import { drawChosenLink, drawGround, drawLinks } from "./draw-links.js";
import { drawNodes } from "./draw-nodes.js";
import { addFloating } from "./floating.js";
import { frameOf } from "./frame.js";
import { addKeys } from "./keys.js";
import { sentence } from "./look.js";
import { addMenu } from "./menu.js";
import { Places } from "./places.js";
import { addPointer } from "./pointer.js";
import { readTheme, watchTheme } from "./theme.js";

/** @import { NodeId, Viewer } from "../types.d.ts" */
/** @import { Frame } from "./frame.js" */

/** The words for those who do not see the picture change at most so often, in milliseconds. */
const WORDS_EVERY = 1000;

/**
 * What the parts of the stage share.
 * @typedef {object} Stage
 * @property {Viewer} viewer
 * @property {HTMLElement} element
 * @property {HTMLCanvasElement} canvas
 * @property {Camera} camera
 * @property {Places} places
 * @property {{ hovered: NodeId | null, focused: NodeId | null, pulse: number }} pointer
 * @property {() => Frame | null} frame what was drawn last
 * @property {() => void} redraw with the next frame
 * @property {() => void} fit
 */

/**
 * @typedef {HTMLElement & { drawStats?: () => { ms: number, worst: number, frames: number },
 *   drawn?: () => Frame | null }} Measured how long drawing takes and what was drawn, for tests
 */

/**
 * @param {Viewer} viewer
 * @param {Measured} element
 */
export function stage(viewer, element) {
  addStyle();
  element.classList.add("stage");
  const canvas = h("canvas", { tabindex: 0, role: "application", "aria-roledescription": "picture of the mesh" });
  element.append(canvas);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

  const camera = new Camera();
  const places = new Places(viewer);
  let theme = readTheme(element);
  /** @type {Frame | null} */
  let frame = null;
  let scheduled = false;
  let wordsAt = Number.NEGATIVE_INFINITY;
  const stats = { ms: 0, worst: 0, frames: 0 };
  element.drawStats = () => ({ ...stats });
  element.drawn = () => frame;

  /** @type {Stage} */
  const shared = {
    viewer,
    element,
    canvas,
    camera,
    places,
    pointer: { hovered: null, focused: null, pulse: 0 },
    frame: () => frame,
    redraw: () => {
      if (scheduled) return;
      scheduled = true;
      requestAnimationFrame(draw);
    },
    fit: () => {
      camera.fit(places.box(), places.nearest);
      shared.redraw();
    },
  };
  const menu = addMenu(shared);
  const floating = addFloating(shared);
  addPointer(shared, menu);
  addKeys(shared, menu);

  function draw() {
    scheduled = false;
    const began = performance.now();
    const anew = places.update(camera);
    if (!camera.touched && (anew || !places.within(camera))) camera.fit(places.box(), places.nearest);
    const goesBy = viewer.playing || viewer.following;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    shared.pointer.pulse = goesBy && !calm ? 0.5 + 0.5 * Math.sin(began / 350) : 0;
    frame = frameOf(viewer, camera, places, theme, shared.pointer, floating.calm());
    const density = canvas.width / camera.width;
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, camera.width, camera.height);
    if (frame) {
      drawGround(context, frame);
      drawLinks(context, frame);
      drawChosenLink(context, frame);
      drawNodes(context, frame);
      drawFlights(context, frame);
    }
    floating.place();
    tell(goesBy);
    stats.ms = performance.now() - began;
    stats.worst = Math.max(stats.worst, stats.ms);
    stats.frames++;
  }

  /** @param {boolean} goesBy */
  function tell(goesBy) {
    const time = performance.now();
    if (!viewer.scene || (goesBy && time < wordsAt + WORDS_EVERY)) return;
    wordsAt = time;
    const words = `The mesh: ${sentence(viewer.scene)} Keys: n and p go through the nodes, Enter selects.`;
    if (canvas.getAttribute("aria-label") !== words) canvas.setAttribute("aria-label", words);
  }

  function resize() {
    const { width, height } = element.getBoundingClientRect();
    if (width < 1 || height < 1) return;
    const density = devicePixelRatio || 1;
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    camera.width = width;
    camera.height = height;
    if (!camera.touched) camera.fit(places.box(), places.nearest);
    draw();
  }

  new ResizeObserver(resize).observe(element);
  watchDensity(resize);
  watchTheme(() => {
    theme = readTheme(element);
    shared.redraw();
  });
  for (const name of /** @type {const} */ (["moment", "selection", "transport", "summary"])) {
    viewer.on(name, shared.redraw);
  }
}

/**
 * Calls back when the page moves to a screen of another density, or is zoomed.
 * @param {() => void} changed
 */
function watchDensity(changed) {
  const query = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
  query.addEventListener(
    "change",
    () => {
      changed();
      watchDensity(changed);
    },
    { once: true },
  );
}

// How the buttons over the picture look. A style sheet of its own, so that the stage brings all it needs.
const STYLE = `
.stage { position: relative; overflow: hidden; min-height: 0; }
.stage > canvas { position: absolute; inset: 0; width: 100%; height: 100%; display: block; touch-action: none; }
.stage > canvas:focus-visible { outline: 2px solid var(--accent, #0b62b0); outline-offset: -2px; }
.stage-tools { position: absolute; right: 10px; bottom: 10px; display: flex; flex-direction: column; gap: 4px; }
.stage-tools button { width: 30px; height: 30px; min-height: 30px; padding: 0; font-size: 17px; line-height: 1; }
.stage button {
  font: inherit; color: var(--ink, #1d2733); background: var(--ground, #fff); cursor: pointer;
  border: 1px solid var(--line, #c3ccd6); border-radius: 6px; padding: 3px 10px;
}
.stage-choice {
  position: absolute; left: 10px; bottom: 8px; padding: 3px 8px; border-radius: 6px; background: var(--ground, #fff);
}
.stage button:hover { background: var(--panel, #f4f6f8); }
.stage-spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.stage-float { position: absolute; left: 0; top: 0; will-change: transform; }
.stage-menu {
  position: absolute; z-index: 3; min-width: 150px; padding: 4px; display: flex; flex-direction: column;
  background: var(--ground, #fff); border: 1px solid var(--line, #c3ccd6); border-radius: 8px;
  box-shadow: 0 6px 24px rgb(0 0 0 / 0.18);
}
.stage-menu button { border: 0; border-radius: 5px; text-align: left; padding: 5px 10px; }
.stage-menu button:focus-visible, .stage-menu button:hover { background: var(--panel, #f4f6f8); }
.stage-menu .title { padding: 4px 10px; color: var(--muted, #667585); font-size: 0.86em; }
`;

let added = false;

/** Adds the style sheet to the page, once. */
function addStyle() {
  if (added) return;
  added = true;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}
