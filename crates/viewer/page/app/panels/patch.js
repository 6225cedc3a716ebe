// Brings what is on the page to what should be there, in place: what did not change is left alone, so that selected
// text, the focus, the scroll position and open parts survive.

/**
 * What elements do when something happens to them, by the name of the event.
 * @type {WeakMap<Element, Record<string, ((event: any) => void) | undefined>>}
 */
const handlers = new WeakMap();

/**
 * Sets what an element does at an event, in place of what it did before.
 * @param {Element} element
 * @param {string} name
 * @param {((event: any) => void) | undefined} handler
 */
export function listen(element, name, handler) {
  const own = handlers.get(element) ?? {};
  handlers.set(element, own);
  if (!(name in own)) element.addEventListener(name, (event) => own[name]?.call(element, event));
  own[name] = handler;
}

/**
 * Makes the children of an element what they should be. A child is the same as one that is there if both have the same
 * `data-key` (or id), or none and the same place. Drawings are exchanged whole, because the code that drew one keeps hold of its
 * parts; mere ornaments only if they differ.
 * @param {Element} element
 * @param {Node[]} wanted
 */
export function patchChildren(element, wanted) {
  const keys = new Set(wanted.map(keyOf));
  /** @type {Map<string, ChildNode>} */
  const keyed = new Map();
  for (const child of [...element.childNodes]) {
    const key = keyOf(child);
    if (key !== null && (keyed.has(key) || !keys.has(key))) child.remove();
    else if (key !== null) keyed.set(key, child);
  }
  let here = element.firstChild;
  for (const next of wanted) {
    const key = keyOf(next);
    const same = key === null ? here : keyed.get(key);
    if (same && keyOf(same) === key && alike(same, next)) {
      patch(same, next);
      if (same === here) here = here.nextSibling;
      else element.insertBefore(same, here);
    } else {
      element.insertBefore(next, here);
      // What stood here without a key makes room for it.
      if (here && keyOf(here) === null) {
        const gone = here;
        here = here.nextSibling;
        gone.remove();
      }
    }
  }
  while (here) {
    const gone = here;
    here = here.nextSibling;
    gone.remove();
  }
}

/** @param {Node} node */
function keyOf(node) {
  if (!(node instanceof Element)) return null;
  const key = node.getAttribute("data-key") ?? node.id;
  return key === "" ? null : `${node.nodeName} ${key}`;
}

/** Whether one can be made the other. @param {Node} one @param {Node} other */
function alike(one, other) {
  if (one instanceof SVGElement) return one.hasAttribute("aria-hidden") && one.isEqualNode(other);
  return one.nodeName === other.nodeName;
}

/** @param {Node} old @param {Node} wanted */
function patch(old, wanted) {
  if (old instanceof Text) patchText(old, wanted.nodeValue ?? "");
  if (!(old instanceof HTMLElement) || !(wanted instanceof HTMLElement)) return;
  for (const name of old.getAttributeNames()) {
    // Whether a part is open is up to the reader.
    if (!wanted.hasAttribute(name) && !(name === "open" && old instanceof HTMLDetailsElement))
      old.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const name of Object.keys(handlers.get(old) ?? {})) listen(old, name, handlers.get(wanted)?.[name]);
  for (const [name, handler] of Object.entries(handlers.get(wanted) ?? {})) listen(old, name, handler);
  patchChildren(old, [...wanted.childNodes]);
}

/**
 * Only the part that differs is exchanged: a selection that lies around it stays.
 * @param {Text} text
 * @param {string} wanted
 */
function patchText(text, wanted) {
  const old = text.data;
  if (old === wanted) return;
  const most = Math.min(old.length, wanted.length);
  let from = 0;
  while (from < most && old[from] === wanted[from]) from++;
  let end = 0;
  while (end < most - from && old[old.length - 1 - end] === wanted[wanted.length - 1 - end]) end++;
  text.replaceData(from, old.length - from - end, wanted.slice(from, wanted.length - end));
}
