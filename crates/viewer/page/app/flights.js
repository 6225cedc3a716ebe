// Messages on their way, and how far each is.

import { lowerBound } from "./scene.js";
import { isTokenMessage, messageKind } from "./words.js";

/** @import { Flight, Moment, Scene, UnderWay } from "./types.d.ts" */
/** @import { Journey, LoadedChunk } from "./chunks.js" */
/** @import { Span } from "./pace.js" */

/** More are not shown at once; those that carry the token always are. */
const MOST_FLIGHTS = 600;
/** What is supposed of a message whose end is not known yet: it comes nearly there and waits. */
const UNKNOWN_END = 0.9;
/** So long a message should be seen on its way, in seconds of the viewer. All else stands nearly still meanwhile, so that it
 *  is short where there are many. */
const SEEN = 0.12;
const SEEN_TOKEN = 0.45;
/** So many are looked at for what flies in the next frame. */
const MOST_AHEAD = 3000;

/**
 * @typedef {object} Moments
 * @property {Moment} now
 * @property {"step" | "time_ns"} clock
 * @property {number} typical how long a message usually takes
 * @property {number} fall how long a lost message is seen falling, at least
 */

/**
 * @param {Scene} scene
 * @param {(LoadedChunk | undefined)[]} chunks the one before the present one, the present one, the one after it
 * @param {Moments} moments
 * @returns {Flight[]}
 */
export function flightsAt(scene, chunks, moments) {
  const flights = [...fallen(scene, chunks, moments), ...underWay(scene, chunks, moments)];
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
 * Messages that were lost a moment ago: one sees them fall.
 * @param {Scene} scene
 * @param {(LoadedChunk | undefined)[]} chunks
 * @param {Moments} moments
 */
function fallen(scene, chunks, moments) {
  const longest = fallOf(moments);
  /** @type {Flight[]} */
  const flights = [];
  for (const chunk of [chunks[1], chunks[0]]) {
    const journeys = chunk?.journeys ?? [];
    for (
      let i = lowerBound(journeys, (one) => one.line <= scene.line) - 1;
      i >= 0 && journeys[i].at > moments.now - longest;
      i--
    ) {
      if (!journeys[i].lost) continue;
      const one = flight(journeys[i].message, journeys[i], moments);
      if (one.progress < 1) flights.push(one);
      if (flights.length > MOST_FLIGHTS) return flights;
    }
  }
  return flights;
}

/**
 * Messages that end after one moment and begin before another, and how long they should be seen.
 * @param {(LoadedChunk | undefined)[]} chunks
 * @param {Moment} from
 * @param {Moment} to
 * @returns {Span[]}
 */
export function flightsBetween(chunks, from, to) {
  return chunks.flatMap((chunk) => {
    const journeys = chunk?.journeys ?? [];
    const first = lowerBound(journeys, (one) => one.at <= from);
    return journeys.slice(first, first + MOST_AHEAD).flatMap(({ message, at }) => {
      if (message.sent >= to) return [];
      const token = isTokenMessage(message.message);
      return [{ from: message.sent, to: at, seen: token ? SEEN_TOKEN : SEEN, token }];
    });
  });
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
  const { now, clock, typical } = moments;
  if (clock === "step") {
    // It rests where it was sent until the step in which it ends; a lost one falls during the step after.
    if (!journey) return 0;
    return clamp(now - (journey.lost ? journey.at : journey.at - 1));
  }
  if (!journey) return Math.min(UNKNOWN_END, (now - message.sent) / Math.max(typical, 1));
  const flown = clamp((now - message.sent) / Math.max(journey.at - message.sent, 1));
  if (!journey.lost) return flown;
  // The first half is its way, the second its fall.
  return flown < 1 ? flown / 2 : clamp(0.5 + (now - journey.at) / fallOf(moments) / 2);
}

/**
 * How long a lost message is seen falling.
 * @param {Moments} moments
 */
function fallOf({ clock, typical, fall }) {
  return clock === "step" ? 1 : Math.max(typical, fall, 1);
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
