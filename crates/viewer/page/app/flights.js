// Messages on their way, and how far each is.

import { LOOK_BACK, seenPasses } from "./passes.js";
import { lowerBound } from "./scene.js";
import { isTokenMessage, messageKind } from "./words.js";

/** @import { Flight, Moment, Scene, UnderWay } from "./types.d.ts" */
/** @import { Journey, LoadedChunk } from "./chunks.js" */
/** @import { Pass } from "./passes.js" */

/** More are not shown at once; those that carry the token always are. */
const MOST_FLIGHTS = 600;
/** What is supposed of a message whose end is not known yet: it comes nearly there and waits. */
const UNKNOWN_END = 0.9;

/**
 * @typedef {object} Moments
 * @property {Moment} now
 * @property {"step" | "time_ns"} clock
 * @property {number} typical how long a message usually takes
 * @property {number} shortest a flight is shown at least so long, also when the message arrived earlier; 0 for the truth
 */

/**
 * @param {Scene} scene
 * @param {(LoadedChunk | undefined)[]} chunks the one before the present one, the present one, the one after it
 * @param {Moments} moments
 * @returns {Flight[]}
 */
export function flightsAt(scene, chunks, moments) {
  const all = [...ended(scene, chunks, moments), ...underWay(scene, chunks, moments)];
  const stretched = moments.clock === "time_ns" && moments.shortest > 0;
  const flights = stretched ? withPasses(all, scene, chunks, moments) : all;
  if (flights.length <= MOST_FLIGHTS) return flights;
  const tokens = flights.filter((flight) => flight.token);
  return [...tokens, ...flights.filter((flight) => !flight.token).slice(tokens.length - MOST_FLIGHTS)];
}

/**
 * Messages that have neither arrived nor been lost.
 * @param {Scene} scene
 * @param {(LoadedChunk | undefined)[]} chunks
 * @param {Moments} moments
 */
function underWay(scene, chunks, moments) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  return scene.under_way.map((message) => {
    const key = `${message.line} ${message.from} ${message.to}`;
    const nth = seen.get(key) ?? 0;
    seen.set(key, nth + 1);
    const journey = chunks[1]?.journeyOf(message, scene.line, nth) ?? chunks[2]?.journeyOf(message, scene.line, nth);
    return flight(message, journey, moments);
  });
}

/**
 * Messages that ended, but are still shown: those that were lost fall, and those that flew too fast to be seen are
 * drawn a while longer.
 * @param {Scene} scene
 * @param {(LoadedChunk | undefined)[]} chunks
 * @param {Moments} moments
 */
function ended(scene, chunks, moments) {
  const longest = Math.max(fallOf(moments), moments.shortest);
  /** @type {Flight[]} */
  const flights = [];
  for (const chunk of [chunks[1], chunks[0]]) {
    const journeys = chunk?.journeys ?? [];
    for (
      let i = lowerBound(journeys, (one) => one.line <= scene.line) - 1;
      i >= 0 && journeys[i].at > moments.now - longest;
      i--
    ) {
      const one = flight(journeys[i].message, journeys[i], moments);
      if (one.progress < 1) flights.push(one);
      if (flights.length > MOST_FLIGHTS) return flights;
    }
  }
  return flights;
}

/**
 * Flights of the token in place of those that overlap. Lost ones fall as they are.
 * @param {Flight[]} flights
 * @param {Scene} scene
 * @param {(LoadedChunk | undefined)[]} chunks
 * @param {Moments} moments
 */
function withPasses(flights, scene, chunks, moments) {
  /** @type {Pass[]} */
  const passes = [];
  const since = moments.now - LOOK_BACK * moments.shortest;
  for (const chunk of [chunks[0], chunks[1]]) {
    const journeys = chunk?.journeys ?? [];
    const end = lowerBound(journeys, (one) => one.line <= scene.line);
    for (let i = lowerBound(journeys, (one) => one.at < since); i < end; i++) {
      const { message, lost } = journeys[i];
      if (!lost && isTokenMessage(message.message)) passes.push({ message, journey: journeys[i] });
    }
  }
  for (const message of scene.under_way) {
    if (!isTokenMessage(message.message)) continue;
    const journey = chunks[1]?.journeyOf(message, scene.line, 0) ?? chunks[2]?.journeyOf(message, scene.line, 0);
    if (!journey?.lost) passes.push({ message, journey });
  }
  passes.sort((a, b) => a.message.line - b.message.line);
  const seen = seenPasses(passes, moments.now, moments.shortest, moments.typical);
  const shown = seen.map(({ pass, progress, towards }) => ({
    ...flight(pass.message, pass.journey, moments),
    progress,
    towards,
  }));
  return [...flights.filter((one) => !one.token || one.lost), ...shown];
}

/**
 * @param {UnderWay} message
 * @param {Journey | undefined} journey
 * @param {Moments} moments
 * @returns {Flight}
 */
function flight(message, journey, moments) {
  return {
    line: message.line,
    from: message.from,
    to: message.to,
    progress: progressOf(message, journey, moments),
    kind: messageKind(message.message),
    token: isTokenMessage(message.message),
    lost: journey?.lost ?? false,
  };
}

/**
 * @param {UnderWay} message
 * @param {Journey | undefined} journey
 * @param {Moments} moments
 */
function progressOf(message, journey, moments) {
  const { now, clock, typical, shortest } = moments;
  if (clock === "step") {
    // It rests where it was sent until the step in which it ends; a lost one falls during the step after.
    if (!journey) return 0;
    return clamp(now - (journey.lost ? journey.at : journey.at - 1));
  }
  if (!journey) return Math.min(UNKNOWN_END, (now - message.sent) / Math.max(typical, shortest, 1));
  const end = journey.lost ? journey.at + fallOf(moments) : journey.at;
  return clamp((now - message.sent) / Math.max(end - message.sent, shortest, 1));
}

/**
 * How long a lost message is seen falling.
 * @param {Moments} moments
 */
function fallOf({ clock, typical, shortest }) {
  return clock === "step" ? 1 : Math.max(typical, shortest);
}

/**
 * How long messages usually take: the median of those that arrived; 0 if none did.
 * @param {Journey[]} journeys
 */
export function typicalFlight(journeys) {
  const spans = journeys
    .filter((one) => !one.lost && one.at > one.message.sent)
    .map((one) => one.at - one.message.sent);
  spans.sort((a, b) => a - b);
  return spans[spans.length >> 1] ?? 0;
}

/**
 * How many messages arrive in a second; 0 if that cannot be told.
 * @param {Journey[]} journeys in the order of their ends
 */
export function arrivalRate(journeys) {
  const span = (journeys.at(-1)?.at ?? 0) - (journeys[0]?.at ?? 0);
  return span > 0 ? (journeys.length / span) * 1e9 : 0;
}

/** @param {number} value */
function clamp(value) {
  return Math.min(1, Math.max(0, value));
}
