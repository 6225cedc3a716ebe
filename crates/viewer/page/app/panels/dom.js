// Making elements, and drawing them again without losing the reader's place.

import { listen, patchChildren } from "./patch.js";

/** @typedef {Node | string | number | null | undefined | false} Child */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element. Properties that begin with "on" are listeners, `class` and all others are attributes; false and null leave
 * an attribute out, true makes it empty.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  set(element, properties);
  append(element, children);
  return element;
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function s(tag, properties = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  set(element, properties);
  append(element, children);
  return element;
}

/** @param {Element} element @param {Record<string, any>} properties */
function set(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) listen(element, name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** @param {Element} element @param {(Child | Child[])[]} children */
function append(element, children) {
  element.append(...nodes(children));
}

/** @param {(Child | Child[])[]} children @returns {Node[]} */
function nodes(children) {
  return children.flat().flatMap((child) => {
    if (child === null || child === undefined || child === false) return [];
    if (typeof child !== "object") return [document.createTextNode(String(child))];
    return child instanceof DocumentFragment ? [...child.childNodes] : [child];
  });
}

/**
 * Makes these the children of an element. What is there already stays in its place, with the reader's selection, focus
 * and open parts. Do not keep hold of HTML elements that were given to it: they may not be the ones that are shown.
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  patchChildren(element, nodes(children));
}

/**
 * A button. Its label is what it says; `title` is shown when pointing at it.
 * @param {string | Child[]} label
 * @param {() => void} press
 * @param {Record<string, any>} [properties]
 */
export function button(label, press, properties = {}) {
  return h("button", { type: "button", onclick: press, ...properties }, ...(Array.isArray(label) ? label : [label]));
}

/**
 * Calls `draw` soon after it was asked for, but not more often than every so many milliseconds, and not while the
 * element cannot be seen. An element that becomes visible should be told by an event "shown".
 * @param {Element} element
 * @param {() => void} draw
 * @param {number} every
 */
export function paced(element, draw, every) {
  let last = Number.NEGATIVE_INFINITY;
  let waiting = false;
  const run = () => {
    waiting = false;
    last = performance.now();
    if (visible(element)) draw();
  };
  const ask = () => {
    if (waiting) return;
    waiting = true;
    const rest = last + every - performance.now();
    if (rest <= 0) requestAnimationFrame(run);
    else setTimeout(run, rest);
  };
  element.addEventListener("shown", ask);
  return ask;
}

/** @param {Element} element */
export function visible(element) {
  return element.checkVisibility?.() ?? true;
}

/** Whether a key press is meant for what has the focus, and not for the page. @param {EventTarget | null} target */
export function typing(target) {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest("input, textarea, select, dialog[open]") !== null)
  );
}
