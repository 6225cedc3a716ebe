// Draws a chart with the look and the class names of those in study pages (crates/report/src/chart): thin grid, ticks
// outside, legend below, a marker for each series so that colour alone tells nothing.

import { axis, TICK_SIZE, width } from "./chartaxis.js";
import { s } from "./dom.js";

/**
 * @typedef {object} Series
 * @property {string} name
 * @property {(number | null)[]} values one for each span; null leaves a gap
 * @property {boolean} [dashed]
 * @property {boolean} [stepped] the value holds from its span on
 */

/**
 * @typedef {object} Chart
 * @property {string} title
 * @property {{ label: string, unit: string, whole?: boolean }} y
 * @property {{ label: string, unit: string }} x
 * @property {number} last the end of the horizontal axis, in its unit
 * @property {Series[]} series
 */

const WIDTH = 420;
const HEIGHT = 150;
const MARGIN = 8;
const TITLE = 14;
const LABEL = 12;

/**
 * @param {Chart} chart
 * @returns {{ svg: SVGElement, plot: { left: number, width: number, total: number }, cursor: SVGElement,
 *   hair: SVGElement, readout: SVGElement }} `hair` and `readout`: where one points, and what is so there
 */
export function drawChart(chart) {
  const shown = chart.series.flatMap(({ values }) => values.filter((value) => value !== null));
  const y = axis(chart.y, shown, { length: HEIGHT, vertical: true });
  const labels = y ? Math.max(...y.ticks.map(({ label }) => width(label))) : 0;
  const left = MARGIN + LABEL * 1.25 + 6 + labels + 8;
  const plot = { left, top: MARGIN + TITLE * 1.3 + 10, width: WIDTH - left - MARGIN * 2, height: HEIGHT };
  const bottom = plot.top + HEIGHT;
  const x = axis(chart.x, [chart.last], { length: plot.width, vertical: false });
  const svg = s("svg", {
    class: "meshlock-chart",
    viewBox: `0 0 ${WIDTH} ${bottom + 80}`,
    role: "img",
    "aria-label": `${chart.title}: ${chart.y.label} by ${chart.x.label}, for ${chart.series.map(({ name }) => name).join(", ")}`,
  });
  svg.append(text("title", TITLE, "ink", "start", MARGIN, MARGIN + TITLE * 0.65, chart.title, { "font-weight": 600 }));
  const middle = plot.top + HEIGHT / 2;
  const turned = { transform: `rotate(-90 ${MARGIN + LABEL * 0.6} ${middle})` };
  const yLabel = y?.label ?? chart.y.label;
  svg.append(text("y-label", LABEL, "ink", "middle", MARGIN + LABEL * 0.6, middle, yLabel, turned));
  if (y) svg.append(verticalAxis(y, plot));
  if (x) svg.append(horizontalAxis(x, plot));
  svg.append(line("foot", "axis", plot.left, bottom, plot.left + plot.width, bottom));
  if (!y) svg.append(text("no-data", 14, "muted", "middle", plot.left + plot.width / 2, middle, "no data yet"));
  for (const [index, series] of chart.series.entries()) if (y) svg.append(drawSeries(series, index, y, plot));
  svg.append(
    text("x-label", LABEL, "ink", "middle", plot.left + plot.width / 2, bottom + 32, x?.label ?? chart.x.label),
  );
  svg.append(legend(chart.series, plot.left, bottom + 52));
  const cursor = line("cursor", "cursor", 0, plot.top, 0, bottom);
  const hair = line("hair", "muted", 0, plot.top, 0, bottom);
  const readout = text("readout", LABEL, "ink", "start", MARGIN, bottom + 70, "");
  svg.append(cursor, hair, readout);
  return { svg, plot: { left: plot.left, width: plot.width, total: WIDTH }, cursor, hair, readout };
}

/** @typedef {{ left: number, top: number, width: number, height: number }} Plot */

/** @param {import("./chartaxis.js").Axis} axis @param {Plot} plot */
function verticalAxis(axis, plot) {
  const group = s("g", { class: "y-axis" });
  for (const { at, label } of axis.ticks) {
    const y = plot.top + plot.height * (1 - at);
    group.append(line("grid", "grid", plot.left, y, plot.left + plot.width, y));
    group.append(line("tick", "axis", plot.left - 5, y, plot.left, y));
    group.append(text("tick-label", TICK_SIZE, "muted", "end", plot.left - 8, y, label));
  }
  group.append(line("spine", "axis", plot.left, plot.top, plot.left, plot.top + plot.height));
  return group;
}

/** @param {import("./chartaxis.js").Axis} axis @param {Plot} plot */
function horizontalAxis(axis, plot) {
  const group = s("g", { class: "x-axis" });
  const bottom = plot.top + plot.height;
  for (const { at, label } of axis.ticks) {
    const x = plot.left + plot.width * at;
    group.append(line("grid", "grid", x, plot.top, x, bottom), line("tick", "axis", x, bottom, x, bottom + 5));
    group.append(text("tick-label", TICK_SIZE, "muted", "middle", x, bottom + 14, label));
  }
  return group;
}

/** @param {Series} series @param {number} index @param {import("./chartaxis.js").Axis} y @param {Plot} plot */
function drawSeries(series, index, y, plot) {
  const group = s("g", { class: "series" });
  const many = Math.max(1, series.values.length);
  /** @param {number} at @param {number} value */
  const place = (at, value) => [
    plot.left + (plot.width * (at + 0.5)) / many,
    plot.top + plot.height * (1 - y.place(value)),
  ];
  const points = series.values.flatMap((value, at) => (value === null ? [] : [{ at, xy: place(at, value) }]));
  group.append(
    s("path", {
      class: `line s-${index}`,
      d: path(points, series.stepped ?? false),
      fill: "none",
      "stroke-width": 1.8,
      "stroke-linejoin": "round",
      "stroke-dasharray": series.dashed ? "6 4" : null,
    }),
  );
  // On some of the points only, and each series elsewhere, so that markers do not hide each other.
  const stride = Math.max(1, Math.ceil(points.length / 10));
  for (const [number, { xy }] of points.entries()) {
    if ((number + index * 3) % stride === 0) group.append(marker(index, xy[0], xy[1]));
  }
  return group;
}

/**
 * Gaps in what was measured are bridged: no grant in a span does not mean that there was no wait.
 * @param {{ xy: number[] }[]} points
 * @param {boolean} stepped
 */
function path(points, stepped) {
  return points
    .map(({ xy: [x, y] }, index) => {
      if (index === 0) return `M${round(x)} ${round(y)}`;
      return stepped ? `H${round(x)}V${round(y)}` : `L${round(x)} ${round(y)}`;
    })
    .join("");
}

/** @param {Series[]} series @param {number} left @param {number} y */
function legend(series, left, y) {
  const group = s("g", { class: "legend" });
  let x = left;
  for (const [index, { name, dashed }] of series.entries()) {
    const dashes = dashed ? "6 4" : null;
    const sample = {
      class: `sample s-${index}`,
      d: `M${x} ${y}H${x + 26}`,
      "stroke-width": 1.8,
      "stroke-dasharray": dashes,
    };
    group.append(
      s(
        "g",
        { class: "entry" },
        s("path", sample),
        marker(index, x + 13, y),
        text("name", 12, "ink", "start", x + 32, y, name),
      ),
    );
    x += 32 + name.length * 6.4 + 16;
  }
  return group;
}

/** The first markers of study pages: disc, square, triangle. @param {number} index @param {number} x @param {number} y */
function marker(index, x, y) {
  const shapes = [
    `M${round(x - 3.9)} ${round(y)}a3.9 3.9 0 1 0 7.8 0a3.9 3.9 0 1 0 -7.8 0Z`,
    `M${round(x - 3.4)} ${round(y - 3.4)}h6.8v6.8h-6.8Z`,
    `M${round(x)} ${round(y - 4.8)}l4.6 8.4h-9.2Z`,
  ];
  return s("path", { class: `marker f-${index} s-paper`, d: shapes[index % shapes.length], "stroke-width": 0.8 });
}

/** @param {string} kind @param {string} paint @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
function line(kind, paint, x1, y1, x2, y2) {
  return s("line", {
    class: `${kind} s-${paint}`,
    x1: round(x1),
    y1: round(y1),
    x2: round(x2),
    y2: round(y2),
    "stroke-width": 1,
  });
}

/**
 * @param {string} kind @param {number} size @param {string} paint @param {string} anchor
 * @param {number} x @param {number} y @param {string} words @param {Record<string, any>} [more]
 */
function text(kind, size, paint, anchor, x, y, words, more = {}) {
  const place = { x: round(x), y: round(y + size * 0.35), "font-size": size, "text-anchor": anchor };
  return s("text", { class: `${kind} f-${paint}`, ...place, ...more }, words);
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 100) / 100;
}
