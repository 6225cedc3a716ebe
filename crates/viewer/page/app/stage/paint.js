// Small things that are painted in many places.

/** @import { Theme } from "./theme.js" */
/** @typedef {CanvasRenderingContext2D} Context */

/**
 * Words on a rounded ground.
 * @param {Context} context
 * @param {number} x
 * @param {number} y
 * @param {string} text
 * @param {{ fill: string, ink: string, size: number, edge?: string }} style
 */
export function pill(context, x, y, text, { fill, ink, size, edge }) {
  context.font = `600 ${size}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const width = context.measureText(text).width + size * 0.9;
  const height = size + 5;
  [x, y] = within(context, x, y, width, height);
  context.beginPath();
  context.roundRect(x - width / 2, y - height / 2, width, height, height / 2);
  context.fillStyle = fill;
  context.fill();
  if (edge) {
    context.strokeStyle = edge;
    context.lineWidth = 1.2;
    context.stroke();
  }
  context.fillStyle = ink;
  context.fillText(text, x, y + 0.5);
}

/**
 * The middle of something of this size, moved so that no edge of the picture cuts it off.
 * @param {Context} context
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
export function within(context, x, y, width, height) {
  const { canvas } = context;
  const density = context.getTransform().a;
  const inside = (/** @type {number} */ at, /** @type {number} */ size, /** @type {number} */ room) =>
    Math.max(size / 2 + 2, Math.min(at, room / density - size / 2 - 2));
  return [inside(x, width, canvas.width), inside(y, height, canvas.height)];
}

/**
 * Words that can be read over links.
 * @param {Context} context
 * @param {Theme} theme
 * @param {string} text
 * @param {number} x
 * @param {number} y
 */
export function outlined(context, theme, text, x, y) {
  [x, y] = within(context, x, y, context.measureText(text).width, 14);
  context.strokeStyle = theme.ground;
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeText(text, x, y);
  context.fillStyle = theme.ink;
  context.fillText(text, x, y);
}

/**
 * @param {Context} context
 * @param {number} x
 * @param {number} y
 * @param {number} radius
 */
export function circle(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
}

/**
 * @param {string} colour as #rrggbb; others stay as they are
 * @param {number} alpha
 */
export function withAlpha(colour, alpha) {
  if (!/^#[0-9a-f]{6}$/i.test(colour)) return alpha === 0 ? "transparent" : colour;
  return (
    colour +
    Math.round(alpha * 255)
      .toString(16)
      .padStart(2, "0")
  );
}
