// Messages on their way: the token glows and leaves a trail, others differ by shape and colour.

import { withAlpha } from "./paint.js";

/** @import { Flight } from "../types.d.ts" */
/** @import { Dot, Frame, Painter } from "./frame.js" */
/** @typedef {CanvasRenderingContext2D} Context */

/** Where steps have no time, messages that wait for theirs stand in a queue on their link, from here on. */
const QUEUE_BEGINS = 0.16;
const QUEUE_STEP = 0.1;
const QUEUE_ENDS = 0.7;
/** More tokens than this on their way have neither glow nor trail. */
const MOST_GLOWING = 4;

/** @typedef {"triangle" | "square" | "diamond" | "bar" | "circle"} Shape */

/**
 * How messages look, by what they are for: asking, giving back, letting in, taking back. A cross would say that one was
 * lost.
 * @type {Record<string, { shape: Shape, colour: "accent" | "good" | "muted" | "s3" }>}
 */
const LOOKS = {
  request: { shape: "triangle", colour: "accent" },
  ask: { shape: "triangle", colour: "accent" },
  update: { shape: "triangle", colour: "s3" },
  reprioritize: { shape: "triangle", colour: "s3" },
  release: { shape: "square", colour: "good" },
  received: { shape: "square", colour: "muted" },
  complete: { shape: "square", colour: "good" },
  start: { shape: "circle", colour: "good" },
  permit: { shape: "circle", colour: "good" },
  reply: { shape: "circle", colour: "good" },
  grant: { shape: "circle", colour: "good" },
  withdraw: { shape: "bar", colour: "s3" },
  cancel: { shape: "bar", colour: "s3" },
};
const OTHER = /** @type {const} */ ({ shape: "diamond", colour: "muted" });

/** @param {string} kind */
export function looksOf(kind) {
  return LOOKS[kind] ?? OTHER;
}

/** Whether messages of this kind ask for something. @param {string} kind */
export function isRequest(kind) {
  return kind === "request" || kind === "ask";
}

/** @type {Painter} */
export function drawFlights(context, frame) {
  const { flights } = frame;
  if (flights.length === 0) return;
  const steps = frame.viewer.summary?.clock === "step";
  const queued = steps ? queues(flights) : null;
  // Where the token is flooded there are many copies of it on their way.
  const glows = flights.filter((flight) => flight.token).length <= MOST_GLOWING;
  /** @type {Map<string, { colour: string, path: Path2D }>} */
  const styles = new Map();
  for (const flight of flights) {
    const from = frame.byId.get(flight.from);
    const to = frame.byId.get(flight.to);
    if (!from || !to || !(from.visible || to.visible)) continue;
    const rest = queued?.get(flight) ?? 0;
    const fallen = !flight.lost ? 0 : steps ? flight.progress : Math.max(0, flight.progress * 2 - 1);
    const along = flight.lost ? (steps ? rest : Math.min(flight.progress, 0.5)) : rest + (1 - rest) * flight.progress;
    const spot = spotOf(frame, from, to, along);
    if (flight.token) drawToken(context, frame, spot, fallen, glows);
    else addShape(styles, frame, flight, spot, fallen);
    if (fallen > 0) drawLoss(context, frame, spot, fallen);
  }
  context.strokeStyle = frame.theme.ground;
  context.lineWidth = 2;
  for (const { colour, path } of styles.values()) {
    if (frame.detail !== "little") context.stroke(path); // so that they stand out from links
    context.fillStyle = colour;
    context.fill(path);
  }
}

/**
 * Where each message rests on its link: the oldest is the farthest.
 * @param {Flight[]} flights in the order of sending
 * @returns {Map<Flight, number>}
 */
function queues(flights) {
  /** @type {Map<string, Flight[]>} */
  const byLink = new Map();
  for (const flight of flights) {
    const key = `${flight.from} ${flight.to}`;
    byLink.set(key, [...(byLink.get(key) ?? []), flight]);
  }
  const rests = new Map();
  for (const line of byLink.values()) {
    const step = Math.min(QUEUE_STEP, (QUEUE_ENDS - QUEUE_BEGINS) / line.length);
    line.forEach((flight, i) => {
      rests.set(flight, QUEUE_BEGINS + (line.length - 1 - i) * step);
    });
  }
  return rests;
}

/** @typedef {{ x: number, y: number, ux: number, uy: number, startX: number, startY: number }} Spot */

/**
 * A place between two nodes, a little to the right so that those that meet pass each other.
 * @param {Frame} frame
 * @param {Dot} from
 * @param {Dot} to
 * @param {number} along
 * @returns {Spot}
 */
function spotOf({ radius }, from, to, along) {
  const length = Math.max(Math.hypot(to.x - from.x, to.y - from.y), 1);
  const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
  const inset = Math.min(radius, length / 3);
  const aside = Math.min(4, radius * 0.3);
  const distance = inset + along * (length - 2 * inset);
  return {
    x: from.x + ux * distance - uy * aside,
    y: from.y + uy * distance + ux * aside,
    ux,
    uy,
    startX: from.x + ux * inset - uy * aside,
    startY: from.y + uy * inset + ux * aside,
  };
}

/**
 * @param {Context} context
 * @param {Frame} frame
 * @param {Spot} spot
 * @param {number} fallen
 * @param {boolean} glows
 */
function drawToken(context, { theme, radius }, { x, y, ux, uy, startX, startY }, fallen, glows) {
  const size = Math.max(4, Math.min(8, radius * (glows ? 0.45 : 0.3)));
  const tail = Math.min(60, Math.hypot(x - startX, y - startY));
  context.globalAlpha = 1 - fallen * 0.8;
  if (glows && tail > 1) {
    const fade = context.createLinearGradient(x - ux * tail, y - uy * tail, x, y);
    fade.addColorStop(0, withAlpha(theme.glow, 0));
    fade.addColorStop(1, withAlpha(theme.glow, 0.75));
    context.strokeStyle = fade;
    context.lineWidth = size * 1.1;
    context.lineCap = "round";
    context.beginPath();
    context.moveTo(x - ux * tail, y - uy * tail);
    context.lineTo(x, y);
    context.stroke();
    context.lineCap = "butt";
  }
  if (glows) {
    const glow = context.createRadialGradient(x, y, size * 0.5, x, y, size * 2.6);
    glow.addColorStop(0, withAlpha(theme.glow, 0.65));
    glow.addColorStop(1, withAlpha(theme.glow, 0));
    context.fillStyle = glow;
    context.beginPath();
    context.arc(x, y, size * 2.6, 0, 2 * Math.PI);
    context.fill();
  }
  context.fillStyle = theme.glow;
  context.strokeStyle = theme.token;
  context.lineWidth = 1.8;
  context.beginPath();
  context.arc(x, y, size, 0, 2 * Math.PI);
  context.fill();
  context.stroke();
  context.globalAlpha = 1;
}

/**
 * @param {Map<string, { colour: string, path: Path2D }>} styles
 * @param {Frame} frame
 * @param {Flight} flight
 * @param {Spot} spot
 * @param {number} fallen
 */
function addShape(styles, { theme, radius, detail }, flight, spot, fallen) {
  const { shape, colour } = looksOf(flight.kind);
  const alpha = 1 - fallen * 0.8;
  const tint = fallen > 0 ? withAlpha(theme[colour], alpha) : theme[colour];
  let style = styles.get(tint);
  if (!style) {
    style = { colour: tint, path: new Path2D() };
    styles.set(tint, style);
  }
  const size = detail === "little" ? 2.2 : Math.max(3.2, Math.min(5.5, radius * 0.32));
  addTo(style.path, detail === "little" ? "square" : shape, { ...spot, y: spot.y + fallen * 14 }, size);
}

/**
 * The corners of shapes, in sizes to the right and downwards. All stand upright, so that a square is no diamond on any
 * link; only the triangle points where it flies.
 * @type {Record<Exclude<Shape, "circle">, [number, number][]>}
 */
const CORNERS = {
  triangle: [
    [1.3, 0],
    [-0.9, 1],
    [-0.9, -1],
  ],
  square: [
    [0.9, 0.9],
    [0.9, -0.9],
    [-0.9, -0.9],
    [-0.9, 0.9],
  ],
  diamond: [
    [1.2, 0],
    [0, 1.2],
    [-1.2, 0],
    [0, -1.2],
  ],
  bar: [
    [1.3, 0.45],
    [1.3, -0.45],
    [-1.3, -0.45],
    [-1.3, 0.45],
  ],
};

/**
 * Where the corners of a shape are that flies in the direction (ux, uy).
 * @param {Exclude<Shape, "circle">} shape
 * @param {{ ux: number, uy: number }} direction
 * @returns {[number, number][]}
 */
export function cornersOf(shape, { ux, uy }) {
  if (shape !== "triangle") return CORNERS[shape];
  return CORNERS[shape].map(([ahead, aside]) => [ux * ahead - uy * aside, uy * ahead + ux * aside]);
}

/**
 * @param {Path2D} path
 * @param {Shape} shape
 * @param {Spot} spot
 * @param {number} size
 */
function addTo(path, shape, spot, size) {
  const { x, y } = spot;
  if (shape === "circle") {
    path.moveTo(x + size, y);
    path.arc(x, y, size, 0, 2 * Math.PI);
    return;
  }
  const [first, ...others] = cornersOf(shape, spot);
  path.moveTo(x + first[0] * size, y + first[1] * size);
  for (const [right, down] of others) path.lineTo(x + right * size, y + down * size);
  path.closePath();
}

/**
 * A red cross where a message was lost.
 * @param {Context} context
 * @param {Frame} frame
 * @param {Spot} spot
 * @param {number} fallen
 */
function drawLoss(context, { theme }, { x, y }, fallen) {
  const size = 5;
  context.globalAlpha = Math.min(1, 1.6 - 1.6 * fallen);
  context.strokeStyle = theme.alarm;
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(x - size, y - size);
  context.lineTo(x + size, y + size);
  context.moveTo(x + size, y - size);
  context.lineTo(x - size, y + size);
  context.stroke();
  context.globalAlpha = 1;
}
