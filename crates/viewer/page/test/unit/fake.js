// A viewer in surroundings of which every move is told by the test.

import { TapeViewer } from "../../app/viewer.js";

/** @import { About, Place } from "../../app/types.d.ts" */
/** @import { Surroundings } from "../../app/types.d.ts" */
/** @import { tape } from "./samples.js" */

/**
 * @param {ReturnType<typeof tape>} shown
 * @param {Partial<About>} [about]
 * @param {Partial<Surroundings["server"]>} [server]
 */
export function fakeViewer(shown, about = {}, server = {}) {
  /** @type {((time: number) => void)[]} */
  let frames = [];
  const asked = { chunks: /** @type {[number, number | undefined][]} */ ([]), summaries: 0, figures: 0 };
  const address = { hash: "", entries: /** @type {string[]} */ ([]) };
  /** @type {(() => void)[]} */
  const later = [];
  /** The user wants as little motion as possible. */
  const mood = { calm: true };
  let time = 1000;
  const viewer = new TapeViewer(
    { version: "0", source: "trace", title: "test", tapes: [{ name: "test" }], can: [], notes: [], ...about },
    {
      server: {
        about: async () => viewer.about,
        summary: async () => {
          asked.summaries++;
          return structuredClone(shown.summary);
        },
        chunk: async (_tape, chunk, after) => {
          asked.chunks.push([chunk, after]);
          const whole = structuredClone(shown.chunks[chunk]);
          if (after === undefined) return whole;
          return { ...whole, scene: null, line: after + 1, records: whole.records.slice(after + 1 - whole.line) };
        },
        next: async () => ({ line: null, at: null }),
        find: async () => ({ found: [], more: null }),
        figures: async () => {
          asked.figures++;
          const none = { waiting: [], longest: [], in_use: [], queued: [], messages: [], grants: [] };
          return { last: 0, marks: {}, ...none, capacity: 1 };
        },
        act: async () => ({}),
        overview: async () => {
          throw new Error("no check");
        },
        place: async () => /** @type {Place} */ (Object.assign({})),
        ...server,
      },
      requestFrame: (callback) => frames.push(callback),
      milliseconds: () => time,
      later: (callback) => later.push(callback),
      calm: () => mood.calm,
      address: {
        hash: () => address.hash,
        push: (hash) => {
          address.hash = hash;
          address.entries.push(hash);
        },
        replace: (hash) => {
          address.hash = hash;
        },
      },
    },
  );
  return {
    viewer,
    asked,
    address,
    later,
    mood,
    /**
     * So many seconds go by, in frames of a tenth.
     * @param {number} seconds
     */
    async pass(seconds) {
      for (let i = 0; i <= Math.round(seconds * 10); i++) {
        const now = frames;
        frames = [];
        for (const frame of now) frame(time);
        if (frames.length === 0) return;
        time += 100;
        await settled();
      }
    },
  };
}

/** Everything that was promised has come. */
export function settled() {
  return new Promise((resolve) => setImmediate(resolve));
}
