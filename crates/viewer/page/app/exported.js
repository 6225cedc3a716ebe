// What a server answers, from what stands in the page itself: see crates/viewer/src/export.rs.

import { findIn } from "./place.js";

/** @import { About, Chunk, Figures, FindQuery, Surroundings, Summary } from "./types.d.ts" */
/** @typedef {{ about: About, tapes: { summary: Summary, figures: Figures, chunks: Chunk[] }[] }} Data */

const nothing = async () => {
  throw new Error("Nothing can be done here: this page is a copy of a recording.");
};

/**
 * @param {Data} data
 * @returns {Surroundings["server"]}
 */
export function exported({ about, tapes }) {
  /** @param {number} tape @param {FindQuery} query */
  const find = async (tape, query) => {
    const { summary, chunks } = tapes[tape];
    return findIn({ header: summary.header, records: chunks.flatMap(({ records }) => records) }, query);
  };
  return {
    about: async () => about,
    summary: async (tape) => tapes[tape].summary,
    chunk: async (tape, chunk) => tapes[tape].chunks.find((one) => one.chunk === chunk) ?? nothing(),
    find,
    next: async (tape, { line, kind, back }) => {
      const [found] = (await find(tape, { line, kind, back, count: 1 })).found;
      return { line: found?.line ?? null, at: found?.record.time_ns ?? found?.record.step ?? null };
    },
    figures: async (tape) => tapes[tape].figures,
    act: nothing,
    overview: nothing,
    place: nothing,
  };
}
