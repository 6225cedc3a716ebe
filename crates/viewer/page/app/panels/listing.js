// A stretch of the list of records. The whole list may have millions of lines and a filter may leave few of them, so
// its length is not known: a stretch grows at the end to which one scrolls and is cut at the other.

import { lowerBound } from "../scene.js";

/** @import { Row } from "./causality.js" */

/** So many rows are kept; enough to scroll without waiting, few enough to be quick. */
export const MOST = 1200;

export class Listing {
  constructor() {
    /** @type {Row[]} ordered by line */
    this.rows = [];
    /** From where to search on backwards and forwards; null where nothing more is to be had. @type {number | null} */
    this.before = null;
    /** @type {number | null} */
    this.after = null;
  }

  /**
   * Adds rows at the end; returns how many were cut at the beginning.
   * @param {Row[]} rows
   * @param {number | null} more
   */
  append(rows, more) {
    const last = this.rows.at(-1)?.line ?? Number.NEGATIVE_INFINITY;
    this.rows.push(...inOrder(rows).filter(({ line }) => line > last));
    this.after = more;
    const surplus = Math.max(0, this.rows.length - MOST);
    if (surplus > 0) {
      this.rows.splice(0, surplus);
      this.before = this.rows[0].line;
    }
    return surplus;
  }

  /**
   * Adds rows at the beginning; returns how many.
   * @param {Row[]} rows
   * @param {number | null} more
   */
  prepend(rows, more) {
    const first = this.rows[0]?.line ?? Number.POSITIVE_INFINITY;
    const added = inOrder(rows).filter(({ line }) => line < first);
    this.rows.unshift(...added);
    this.before = more;
    if (this.rows.length > MOST) {
      this.rows.length = MOST;
      this.after = this.rows[MOST - 1].line;
    }
    return added.length;
  }

  /** The row of a line, or the last one before it; -1 if it lies before all. @param {number} line */
  at(line) {
    return lowerBound(this.rows, (row) => row.line <= line) - 1;
  }

  /** Whether the place of a line is inside, so that its neighbours are known. @param {number} line */
  covers(line) {
    if (this.rows.length === 0) return false;
    const early = this.before === null || line >= this.rows[0].line;
    const late = this.after === null || line <= (this.rows.at(-1)?.line ?? 0);
    return early && late;
  }
}

/** @param {Row[]} rows */
function inOrder(rows) {
  return [...rows].sort((a, b) => a.line - b.line);
}

/**
 * Which rows are to be drawn, with a few more on both sides.
 * @param {number} top how far it is scrolled
 * @param {number} height of what can be seen
 * @param {number} row height of a row
 * @param {number} length how many rows there are
 */
export function visibleRange(top, height, row, length) {
  const from = Math.max(0, Math.floor(top / row) - 6);
  const to = Math.min(length, Math.ceil((top + height) / row) + 6);
  return { from: Math.min(from, to), to };
}

/**
 * How far to scroll so that a row can be seen: not at all if it can be, else so that it is in the middle.
 * @param {number} index
 * @param {number} top
 * @param {number} height
 * @param {number} row
 */
export function scrollFor(index, top, height, row) {
  const y = index * row;
  if (y >= top + row && y + 2 * row <= top + height) return top;
  return Math.max(0, y - (height - row) / 2);
}
