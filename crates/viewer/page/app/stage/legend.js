// What the signs of the picture mean. Only those that can occur in this tape are listed.

import { looksOf } from "./draw-flights.js";

/** @import { Stage } from "./index.js" */

const SVG = "http://www.w3.org/2000/svg";

/** Kinds of messages of each protocol that are worth a word, with that word. */
const MESSAGES = [
  {
    of: /^reverse-link/,
    kinds: [
      ["ask", "asks for the token"],
      ["release", "gives units back"],
      ["link", "tells its height"],
    ],
  },
  { of: /^flood/, kinds: [["request", "request, told to all"]] },
  {
    of: /^group/,
    kinds: [
      ["request", "request"],
      ["start", "may enter too"],
      ["complete", "is out again"],
    ],
  },
  {
    of: /./,
    kinds: [
      ["request", "request"],
      ["reply", "answer"],
      ["other", "other message"],
    ],
  },
];

/** @param {Stage} stage */
export function addLegend({ viewer, element }) {
  const box = document.createElement("div");
  box.className = "stage-legend";
  const list = document.createElement("ul");
  list.hidden = true;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Legend";
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", () => {
    list.hidden = !list.hidden;
    button.setAttribute("aria-expanded", String(!list.hidden));
    if (!list.hidden) fill();
  });
  box.append(list, button);
  element.append(box);

  function fill() {
    const header = viewer.summary?.header;
    const heights = viewer.scene?.nodes.some((node) => node.view?.height);
    const permission = viewer.scene?.nodes.some((node) => node.view?.by_permission);
    const items = [
      item([circle(7, "var(--accent)", "var(--accent)")], "inside: holds units"),
      item([circle(7, "var(--ground)", "var(--accent)"), circle(3.5, "var(--accent)", "none", 15, 5)], "waits"),
      item([chip()], "claims it knows, most urgent first; its own are filled"),
    ];
    if (viewer.summary?.views && !permission) {
      items.unshift(
        item(
          [circle(8, "none", "var(--token)", 10, 10, 2.5), circle(5, "var(--ground)", "var(--muted)")],
          "has the token",
        ),
        item([circle(4.5, "var(--token)", "none")], "the token on its way"),
      );
      if (heights) {
        items.push(
          item(
            [path("M1 10h18", "var(--line)"), fillPath("M14 10l-5-4v8z", "var(--muted)")],
            "link; the token is that way",
          ),
          item(
            [path("M1 10h18", "var(--accent)"), fillPath("M14 10l-5-4v8z", "var(--accent)")],
            "asked, not answered yet",
          ),
          item([dashed("M1 10h18", "var(--line)")], "link; an end has not heard of the token"),
          item([dashedCircle()], "keeps a copy until it has arrived"),
        );
      }
    }
    const { kinds } = MESSAGES.find(({ of }) => of.test(header?.protocol ?? "")) ?? MESSAGES[3];
    for (const [kind, words] of kinds) items.push(item([messageSign(kind)], `message: ${words}`));
    items.push(item([path("M6 6l8 8m0-8l-8 8", "var(--alarm)", 2)], "a message is lost"));
    list.replaceChildren(...items);
  }
}

/**
 * @param {SVGElement[]} signs
 * @param {string} words
 */
function item(signs, words) {
  const svg = made("svg", { width: "20", height: "20", viewBox: "0 0 20 20", "aria-hidden": "true" });
  svg.append(...signs);
  const entry = document.createElement("li");
  entry.append(svg, words);
  return entry;
}

/** @param {string} kind */
function messageSign(kind) {
  const { shape, colour } = looksOf(kind);
  const paint = `var(--${colour})`;
  if (shape === "triangle") return fillPath("M16 10l-10-5v10z", paint);
  if (shape === "square") return fillPath("M6 6h8v8h-8z", paint);
  if (shape === "cross") return path("M6 6l8 8m0-8l-8 8", paint, 3);
  if (shape === "circle") return circle(4.5, paint, "none");
  return fillPath("M10 5l5 5-5 5-5-5z", paint);
}

function chip() {
  return made("rect", { x: "2", y: "5", width: "16", height: "10", rx: "3", fill: "var(--accent)" });
}

function dashedCircle() {
  const ring = circle(7.5, "none", "var(--token)");
  ring.setAttribute("stroke-dasharray", "4 3");
  return ring;
}

/** @param {number} r @param {string} fill @param {string} stroke @param {number} [x] @param {number} [y] @param {number} [width] */
function circle(r, fill, stroke, x = 10, y = 10, width = 1.6) {
  return made("circle", { cx: `${x}`, cy: `${y}`, r: `${r}`, fill, stroke, "stroke-width": `${width}` });
}

/** @param {string} d @param {string} stroke @param {number} [width] */
function path(d, stroke, width = 1.6) {
  return made("path", { d, stroke, fill: "none", "stroke-width": `${width}` });
}

/** @param {string} d @param {string} stroke */
function dashed(d, stroke) {
  const made = path(d, stroke);
  made.setAttribute("stroke-dasharray", "3 3");
  return made;
}

/** @param {string} d @param {string} fill */
function fillPath(d, fill) {
  return made("path", { d, fill });
}

/**
 * @param {string} name
 * @param {Record<string, string>} attributes
 */
function made(name, attributes) {
  const element = /** @type {SVGElement} */ (document.createElementNS(SVG, name));
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
