// The space-time diagram: what each node did, and the messages between them. Time goes from left to right.

/** @import { Viewer } from "../types.d.ts" */

import { recordMoment } from "../scene.js";
import { directCauses, passages, pastAndFuture, stretches } from "./causality.js";
import { drawDiagram } from "./diagram.js";
import { button, fill, h, paced, visible } from "./dom.js";
import { drawer } from "./drawer.js";
import { lanesFor, places, rowsAround } from "./lanes.js";
import { clockOf, namer, selectedNode } from "./names.js";

const GAPS = [5, 8, 12, 18, 26, 38];
const SIZES = [100, 200, 400, 800];
const LEAF_MS = 700;

/** @param {Viewer} viewer @param {HTMLElement} element */
export function spacetime(viewer, element) {
  const { bar, room } = drawer(element, "Messages over time");
  let zoom = 3;
  let size = 200;
  let evenly = true;
  let tracing = false;
  /** @type {import("./causality.js").Row[]} */
  let rows = [];
  /** The line for which rows were fetched last, and where the cursor was then. */
  let cursorAtLoad = -1;
  let loadedAt = Number.NEGATIVE_INFINITY;
  /** @type {ReturnType<typeof drawDiagram> | null} */
  let drawing = null;
  /** @type {Map<number, number[]>} */
  let causes = new Map();

  const sizes = h(
    "select",
    { "aria-label": "How many records", title: "How many records are shown" },
    SIZES.map((value) => h("option", { value, selected: value === size }, `${value} records`)),
  );
  const even = button("By time", () => change(() => (evenly = !evenly)), {
    title: "Distances show the time between records; otherwise all are equally far apart",
  });
  const trace = button("Causes", () => change(() => (tracing = !tracing)), {
    title: "Fade all that neither led to the present record nor follows from it. Pointing at a record does the same.",
  });
  bar.append(
    h("span", { class: "key muted" }, "◆ grant   ▬ inside   ┄ waits   ━ token   ✕ lost   │ link"),
    h("span", { class: "spacer" }),
    button("Earlier", () => load(rows[0]?.line ?? 1), { title: "Show what was before, without going there" }),
    button("Later", () => load(rows.at(-1)?.line ?? 1), { title: "Show what comes after, without going there" }),
    sizes,
    even,
    trace,
    button("−", () => change(() => (zoom = Math.max(0, zoom - 1))), { class: "icon", "aria-label": "Closer together" }),
    button("+", () => change(() => (zoom = Math.min(GAPS.length - 1, zoom + 1))), {
      class: "icon",
      "aria-label": "Wider apart",
    }),
  );
  sizes.addEventListener("change", () => {
    size = Number(sizes.value);
    load(viewer.scene?.line ?? 1);
  });

  /** @param {() => void} set */
  function change(set) {
    set();
    draw();
  }

  let loads = 0;
  /** @param {number} line */
  async function load(line) {
    const number = ++loads;
    cursorAtLoad = viewer.scene?.line ?? 1;
    loadedAt = performance.now();
    const found = await viewer.records(Math.max(2, line - size * 2), line + size * 2).catch(() => null);
    if (!found || number !== loads) return;
    rows = rowsAround(found, line, size);
    draw();
  }

  function draw() {
    even.setAttribute("aria-pressed", String(!evenly));
    trace.setAttribute("aria-pressed", String(tracing));
    if (rows.length === 0) {
      drawing = null;
      return fill(room, h("p", { class: "muted" }, "Nothing has happened yet."));
    }
    const messages = passages(rows);
    causes = directCauses(rows, messages);
    const nodes = (viewer.scene?.nodes ?? []).map(({ id }) => id);
    const lanes = lanesFor(nodes, rows, selectedNode(viewer));
    // A few records are spread over what room there is.
    const wide = Math.min(60, (room.clientWidth - 160) / rows.length) * (GAPS[zoom] / GAPS[3]);
    drawing = drawDiagram({
      rows,
      messages,
      stretches: stretches(rows),
      lanes,
      lane: Math.max(22, Math.min(44, (room.clientHeight - 40) / Math.max(1, lanes.length))),
      xs: places(
        rows.map(({ record }) => recordMoment(record)),
        Math.max(GAPS[zoom], wide),
        evenly,
      ),
      selected: selectedNode(viewer),
      clock: clockOf(viewer),
      nameOf: namer(viewer),
      choose(line) {
        viewer.pause();
        viewer.seek(line);
        viewer.select({ line });
      },
      chooseNode: (node) => viewer.select({ node }),
      point: (line) => showCauses(line),
    });
    room.replaceChildren(drawing.names, drawing.svg);
    showCursor(true);
    showCauses(null);
  }

  /** @param {number | null} line the record pointed at */
  function showCauses(line) {
    const chosen = viewer.selected && "line" in viewer.selected ? viewer.selected.line : null;
    const from = line ?? (tracing ? (viewer.scene?.line ?? null) : chosen);
    if (from === null || !causes.has(from)) return drawing?.trace(null);
    const { past, future } = pastAndFuture(causes, from);
    drawing?.trace(new Set([...past, ...future]));
  }

  /** @param {boolean} always */
  function showCursor(always) {
    const x = drawing?.cursor(viewer.scene?.line ?? 0);
    if (x === undefined || !drawing) return;
    const label = drawing.names.clientWidth;
    const from = room.scrollLeft;
    const inside = x > from && x < from + room.clientWidth - label - 30;
    if (!inside && (always || viewer.playing || cursorAtLoad !== viewer.scene?.line)) {
      room.scrollLeft = Math.max(0, x - (room.clientWidth - label) * 0.6);
    }
  }

  function follow() {
    if (!visible(room)) return;
    const line = viewer.scene?.line ?? 1;
    const at = rows.findLastIndex((row) => row.line <= line);
    const early = rows[0] !== undefined && rows[0].line > 2 && at < rows.length * 0.1;
    const late = at > rows.length * 0.9 && (rows.at(-1)?.line ?? 0) < (viewer.summary?.lines ?? 0);
    // What was leafed to stays until the moment changes.
    if (rows.length === 0 || ((early || late) && line !== cursorAtLoad)) {
      // While time goes by it leafs on from time to time, not all the time.
      const moves = viewer.playing || viewer.following;
      if (!moves || performance.now() - loadedAt > LEAF_MS) load(line);
    } else {
      showCursor(false);
      if (tracing) showCauses(null);
    }
  }
  const soon = paced(room, follow, 120);
  const anew = paced(room, () => load(viewer.scene?.line ?? 1), 400);
  viewer.on("moment", soon);
  viewer.on("summary", () => (rows.length < size ? anew() : soon()));
  viewer.on("check", anew);
  viewer.on("selection", paced(room, draw, 50));
  new ResizeObserver(paced(room, draw, 200)).observe(room);
  let tape = viewer.tape;
  viewer.on("summary", () => {
    if (tape !== viewer.tape) anew();
    tape = viewer.tape;
  });
}
