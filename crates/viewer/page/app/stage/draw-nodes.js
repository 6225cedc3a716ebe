// Nodes: who has the token, who is inside, who waits, and what each knows of the others' claims.

import { partOf } from "../census.js";
import { hasOwnName, labelOf } from "./look.js";
import { circle, outlined, pill, withAlpha, within } from "./paint.js";
import { inkOn, sessionColour, sessionLabel } from "./theme.js";

/** @import { Dot, DotPainter, DotsPainter, Painter } from "./frame.js" */

/** Units up to this capacity are drawn one by one. */
const MOST_SLOTS = 12;
/** So many claims are shown, then how many more there are. */
const MOST_CHIPS = 4;
const FULL_TURN = 2 * Math.PI;
const TOP = -Math.PI / 2;

/** @type {Painter} */
export function drawNodes(context, frame) {
  const dots = frame.dots.filter((dot) => dot.visible);
  for (const dot of dots) if (dot.look.token || dot.look.copy) drawToken(context, frame, dot);
  if (frame.detail === "full" || frame.detail === "names") {
    // One after the other: where nodes stand close, the one in front hides what is behind it.
    const marked = [frame.hovered, frame.focused, frame.chosen, frame.broken];
    const weight = (/** @type {Dot} */ { look }) => (look.token ? 2 : look.held > 0 ? 1 : 0);
    dots.sort((a, b) => weight(a) - weight(b));
    for (const dot of dots) if (!marked.includes(dot.node.id)) drawWhole(context, frame, dot);
    drawMarks(context, frame);
    for (const dot of dots) if (marked.includes(dot.node.id)) drawWhole(context, frame, dot);
    drawQueues(context, frame, dots);
    return;
  }
  drawBodies(context, frame, dots);
  drawMarks(context, frame);
  if (frame.detail === "little") return;
  for (const dot of dots) if (dot.look.held > 0) drawSlots(context, frame, dot);
  for (const dot of dots) if (dot.look.waiting) drawClock(context, frame, dot);
}

/** Circles, one path for each style. @type {DotsPainter} */
function drawBodies(context, { theme, radius, detail, suspended }, dots) {
  /** @type {Map<string, { fill: string, edge: string, alpha: number, dashed: boolean, path: Path2D }>} */
  const styles = new Map();
  for (const { node, look, x, y } of dots) {
    const fill = look.held > 0 ? sessionColour(theme, look.session) : theme.ground;
    const edge = look.held > 0 ? fill : look.waiting ? sessionColour(theme, look.session) : theme.muted;
    const alpha = node.gone ? 0.3 : 1;
    const dashed = suspended.has(node.id);
    const key = `${fill} ${edge} ${alpha} ${dashed}`;
    let style = styles.get(key);
    if (!style) {
      style = { fill, edge, alpha, dashed, path: new Path2D() };
      styles.set(key, style);
    }
    style.path.moveTo(x + radius, y);
    style.path.arc(x, y, radius, 0, FULL_TURN);
  }
  for (const { fill, edge, alpha, dashed, path } of styles.values()) {
    context.globalAlpha = alpha;
    context.fillStyle = fill;
    context.fill(path);
    context.strokeStyle = edge;
    context.lineWidth = detail === "little" ? 1 : 1.8;
    context.setLineDash(dashed ? [4, 4] : []);
    context.stroke(path);
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/** The token glows; a copy that is kept is a hollow ring. @type {DotPainter} */
function drawToken(context, { theme, radius, pulse }, { x, y, look }) {
  const ring = radius + Math.max(5, radius * 0.42);
  if (look.token) {
    const reach = ring + Math.max(7, radius * 0.7) + 2.5 * pulse;
    const glow = context.createRadialGradient(x, y, radius * 0.8, x, y, reach);
    glow.addColorStop(0, withAlpha(theme.glow, 0.7));
    glow.addColorStop(0.55, withAlpha(theme.glow, 0.32));
    glow.addColorStop(1, withAlpha(theme.glow, 0));
    context.fillStyle = glow;
    circle(context, x, y, reach);
    context.fill();
  }
  context.strokeStyle = theme.token;
  context.lineWidth = look.token ? 3 : 1.5;
  if (!look.token) context.setLineDash([4, 3]);
  circle(context, x, y, ring);
  context.stroke();
  context.setLineDash([]);
}

/** Units in use here out of all units, as parts of a ring. @type {DotPainter} */
function drawSlots(context, { theme, radius, capacity }, { x, y, look }) {
  if (capacity <= 1) return;
  const ring = radius * 0.74;
  const width = Math.max(2.5, radius * 0.2);
  const ink = inkOn(sessionColour(theme, look.session));
  context.strokeStyle = ink;
  context.lineWidth = width;
  const gap = capacity > MOST_SLOTS ? 0 : Math.min(0.22, 2 / ring);
  const part = FULL_TURN / capacity;
  const full = new Path2D();
  const empty = new Path2D();
  if (capacity > MOST_SLOTS) {
    full.arc(x, y, ring, TOP, TOP + FULL_TURN * Math.min(1, look.held / capacity));
    empty.arc(x, y, ring, 0, FULL_TURN);
  } else {
    for (let slot = 0; slot < capacity; slot++) {
      const path = slot < look.held ? full : empty;
      const from = TOP + slot * part + gap / 2;
      path.moveTo(x + ring * Math.cos(from), y + ring * Math.sin(from));
      path.arc(x, y, ring, from, from + part - gap);
    }
  }
  context.globalAlpha = 0.25;
  context.stroke(empty);
  context.globalAlpha = 1;
  context.stroke(full);
}

/** Who waits has a small clock at the upper right. @type {DotPainter} */
function drawClock(context, { theme, radius, detail }, { x, y, look, node }) {
  if (node.gone) return;
  const size = detail === "full" ? 6.5 : detail === "names" ? 5.5 : 3.5;
  const [cx, cy] = [x + radius * 0.78, y - radius * 0.78];
  const colour = sessionColour(theme, look.session);
  circle(context, cx, cy, size);
  context.fillStyle = colour;
  context.fill();
  context.strokeStyle = theme.ground;
  context.lineWidth = 1.5;
  context.stroke();
  if (detail === "some") return;
  context.strokeStyle = inkOn(colour);
  context.lineWidth = 1.4;
  context.lineCap = "round";
  context.beginPath();
  context.moveTo(cx, cy - size * 0.58);
  context.lineTo(cx, cy);
  context.lineTo(cx + size * 0.45, cy + size * 0.2);
  context.stroke();
  context.lineCap = "butt";
}

/** What is selected, focused, or broken. @type {Painter} */
function drawMarks(context, frame) {
  const { theme, radius } = frame;
  const broken = frame.broken === undefined ? undefined : frame.byId.get(frame.broken);
  const marks = /** @type {const} */ ([
    [frame.byId.get(frame.hovered ?? -1), theme.muted, 1.2, []],
    [frame.byId.get(frame.focused ?? -1), theme.accent, 1.5, [2, 3]],
    [frame.byId.get(frame.chosen ?? -1), theme.accent, 2.5, []],
  ]);
  for (const [dot, colour, width, dash] of marks) {
    if (!dot) continue;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash([...dash]);
    circle(context, dot.x, dot.y, radius + 4);
    context.stroke();
    context.setLineDash([]);
  }
  if (!broken) return;
  context.strokeStyle = theme.alarm;
  context.lineWidth = 3.5;
  circle(context, broken.x, broken.y, radius + 5);
  context.stroke();
  pill(context, broken.x, broken.y - radius - 19, frame.viewer.scene?.end?.violation?.rule ?? "broken", {
    fill: theme.alarm,
    ink: inkOn(theme.alarm),
    size: 12,
  });
}

/** A node with its label, name and session. @type {DotPainter} */
function drawWhole(context, frame, dot) {
  const { theme, radius, detail } = frame;
  const { node, look, x, y } = dot;
  drawBodies(context, frame, [dot]);
  if (look.held > 0) drawSlots(context, frame, dot);
  if (look.waiting) drawClock(context, frame, dot);
  context.globalAlpha = node.gone ? 0.4 : 1;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = look.held > 0 ? inkOn(sessionColour(theme, look.session)) : theme.ink;
  const label = labelOf(node);
  const size = Math.round(Math.min(13, (radius * 1.55) / Math.max(label.length * 0.62, 1)));
  context.font = `600 ${size}px system-ui, sans-serif`;
  context.fillText(label, x, y + 0.5);
  if (hasOwnName(node)) {
    context.font = "12px system-ui, sans-serif";
    outlined(context, theme, node.name, x, y + radius + 17 + (look.token ? 6 : 0));
  }
  const session = look.held > 0 || look.waiting ? look.session : null;
  if (session !== null) {
    pill(context, x - radius * 0.85, y - radius * 0.9, sessionLabel(session), {
      fill: theme.ground,
      ink: theme.ink,
      size: detail === "full" ? 10 : 8,
      edge: sessionColour(theme, session),
    });
  }
  context.globalAlpha = 1;
  if (node.gone) drawCross(context, frame, dot);
  drawPart(context, frame, dot);
}

/**
 * Who is gone is crossed out.
 * @type {DotPainter}
 */
function drawCross(context, { theme, radius }, { x, y, node }) {
  const arm = radius * 0.8;
  context.strokeStyle = node.crashed ? theme.alarm : theme.muted;
  context.lineWidth = 2.5;
  context.beginPath();
  context.moveTo(x - arm, y - arm);
  context.lineTo(x + arm, y + arm);
  context.moveTo(x + arm, y - arm);
  context.lineTo(x - arm, y + arm);
  context.stroke();
}

/** What a node has to do with a crash. @type {DotPainter} */
function drawPart(context, { theme, radius, repair, suspended, viewer }, { x, y, node, look }) {
  const { words: part, alarm } = partOf(node, repair, suspended.has(node.id), viewer);
  if (part === null) return;
  const fill = alarm ? theme.alarm : theme.ground;
  const ink = alarm ? inkOn(theme.alarm) : theme.ink;
  pill(context, x, y - radius - (look.token ? 19 : 12), part, { fill, ink, size: 10, edge: theme.muted });
}

/** @type {DotsPainter} */
function drawQueues(context, frame, dots) {
  const chosen = [frame.hovered, frame.focused, frame.chosen];
  for (const dot of dots) {
    // Where there is little room, only of nodes that one looks at.
    const shown = frame.detail === "full" || dot.look.token || chosen.includes(dot.node.id);
    if (shown && dot.look.chips.length > 0 && !dot.node.gone) drawChips(context, frame, dot);
  }
}

/** @type {DotPainter} */
function drawChips(context, { theme, radius }, { node, look, x, y }) {
  const shown = look.chips.slice(0, MOST_CHIPS);
  const more = look.chips.length - shown.length;
  context.font = "600 10px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  const widths = shown.map((chip) => Math.max(15, context.measureText(chip.text).width + 8));
  const moreWidth = more > 0 ? context.measureText(`+${more}`).width + 6 : 0;
  const total = widths.reduce((sum, width) => sum + width + 2, moreWidth) - 2;
  const below = y + radius + (look.token ? 13 : 9) + (hasOwnName(node) ? 19 : 0);
  const [middle, centre] = within(context, x, below + 7, total, 14);
  const top = centre - 7;
  let left = middle - total / 2;
  shown.forEach((chip, i) => {
    const colour = sessionColour(theme, chip.session);
    context.beginPath();
    context.roundRect(left, top, widths[i], 14, 4);
    context.fillStyle = chip.own ? colour : theme.ground;
    context.fill();
    context.strokeStyle = colour;
    context.lineWidth = 1.2;
    context.stroke();
    context.fillStyle = chip.own ? inkOn(colour) : theme.ink;
    context.fillText(chip.text, left + widths[i] / 2, top + 7.5);
    left += widths[i] + 2;
  });
  if (more === 0) return;
  context.fillStyle = theme.muted;
  context.fillText(`+${more}`, left + moreWidth / 2, top + 7.5);
}
