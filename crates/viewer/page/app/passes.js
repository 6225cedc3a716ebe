// There is one token. Where it passes through several nodes faster than one can see, its flights are shown one after the
// other, and not all at once.

/** @import { Moment, UnderWay } from "./types.d.ts" */
/** @import { Journey } from "./chunks.js" */

/** So many shortest flights back a pass may still be waiting to be shown. */
export const LOOK_BACK = 8;
/** Behind by more than this many shortest flights, passes are shown in a hurry. */
const LATE = 2;
const HURRY = 0.25;

/**
 * A flight of the token: when it was sent, and when it arrived or will; null if that is not known.
 * @typedef {{ message: UnderWay, journey: Journey | undefined }} Pass
 */

/**
 * The passes that are seen at a moment; of each chain of passes one.
 * @param {Pass[]} passes in the order of sending
 * @param {Moment} now
 * @param {number} shortest how long a flight is shown at least
 * @param {number} typical how long one usually takes
 * @returns {{ pass: Pass, progress: number, towards: number }[]}
 */
export function seenPasses(passes, now, shortest, typical) {
  /** @type {{ pass: Pass, start: Moment, end: Moment, towards: number }[][]} */
  const chains = [];
  for (const pass of passes) {
    const { from, to, sent } = pass.message;
    const chain = chains.find((one) => one.at(-1)?.pass.message.to === from);
    const free = chain?.at(-1)?.end ?? sent;
    const start = Math.max(sent, free);
    const natural = pass.journey ? pass.journey.at - sent : Math.max(typical, shortest);
    const span = Math.max(start > sent ? 0 : natural, shortest) * (start - sent > LATE * shortest ? HURRY : 1);
    const shown = { pass, start, end: start + span, towards: to };
    if (!chain || start === sent) chains.push([shown]);
    else {
      chain.push(shown);
      for (const one of chain) one.towards = to;
    }
  }
  return chains
    .flat()
    .filter(({ start, end }) => start <= now && now < end)
    .map(({ pass, start, end, towards }) => ({ pass, progress: (now - start) / (end - start), towards }));
}
