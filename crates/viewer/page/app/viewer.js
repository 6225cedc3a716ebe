// What all parts of the page share: see `Viewer` in types.d.ts.

import { addressOf, addressOfSpot, pathOf, spotOf } from "./address.js";
import { Chunks } from "./chunks.js";
import { Cursor } from "./cursor.js";
import { Emitter, throttle } from "./emitter.js";
import { arrivalRate, flightsAt, flightsBetween, typicalFlight } from "./flights.js";
import { extend, isKnown, liveMoment, liveSpeed, MeshClock, Speedometer } from "./growth.js";
import { firstSpeed } from "./pace.js";
import { findIn, isNext, tapeOf } from "./place.js";
import { Player } from "./player.js";

/**
 * @import { About, Action, Chunk, Condition, Done, Figures, FindQuery, MarkKind, Moment, Overview, Place, Playing, Position,
 *   SceneNode, Selection, Summary, Surroundings, Update, Viewer } from "./types.d.ts"
 */
/** @typedef {Update["tapes"][number]} News */

/** Figures are asked for at most so often, in milliseconds; and for so many spans. */
const FIGURES_EVERY = 2000;
const BUCKETS = 240;
/** The overview of a search is asked for so often, in milliseconds. */
const OVERVIEW_EVERY = 1000;
/** The address of the page is told at most so often, in milliseconds: browsers refuse more. */
const ADDRESS_EVERY = 300;
/** A recording with a broken rule is shown from so long before it, in seconds of the viewer. */
const BEFORE_VIOLATION = 8;
/** A lost message is seen falling at least so long while time goes by, in seconds of the viewer. */
const FALL = 0.45;

/**
 * @implements {Viewer}
 */
export class TapeViewer extends Emitter {
  /** @type {About} */
  about;
  /** @type {Summary | null} */
  summary = null;
  tape = 0;
  /** @type {Playing | null} */
  live = null;
  /** @type {Figures | null} */
  figures = null;
  /** @type {Selection | null} */
  selected = null;
  /** @type {Condition} */
  condition = { suspended: [], repair: null };
  /** @type {Overview | null} */
  overview = null;
  /** @type {Place | null} */
  place = null;
  /** Null as long as the server answers, then why it does not. @type {string | null} */
  gone = null;
  /** How fast a live simulation really goes; null if that is not known. @type {number | null} */
  realSpeed = null;

  #around;
  /** @type {Cursor | null} */
  #cursor = null;
  /** How long messages usually take, in moments. */
  #typical = 0;
  #player;
  /** When the last news came, by the clock of the surroundings. */
  #newsAt = 0;
  /** How many chunks there were by the last update. */
  #chunkCount = -1;
  /** The latest update of the tape that is not processed yet. @type {News | null} */
  #news = null;
  #keepsUp = false;
  #wantFigures;
  #wantAddress;
  #meshClock = new MeshClock();
  #speedometer = new Speedometer();
  /** @type {Promise<void>} the step that is being made */
  #step = Promise.resolve();

  /**
   * @param {About} about
   * @param {Surroundings} around
   */
  constructor(about, around) {
    super();
    this.about = about;
    this.#around = around;
    this.#player = new Player(this.#track(), around.requestFrame);
    this.#wantFigures = throttle(
      () => this.#fetchFigures(),
      (callback) => around.later(callback, FIGURES_EVERY),
    );
    // Who looks at what goes by has no address: the next look would be another.
    this.#wantAddress = throttle(
      () => around.address.replace(this.#player.mode === "rest" ? this.link : ""),
      (callback) => around.later(callback, ADDRESS_EVERY),
    );
  }

  /** Shows the first tape, or what the address of the page names. */
  async begin() {
    if (this.about.source === "check") {
      this.#watchSearch();
      await this.goTo(pathOf(this.#around.address.hash()) ?? [], "replace");
    } else if (this.about.tapes.length > 0 && !(await this.#toAddress())) {
      await this.showTape(0);
    }
  }

  /** Goes to the spot that the address of the page names, if it names one. */
  async #toAddress() {
    const spot = spotOf(this.#around.address.hash(), this.about.tapes);
    if (!spot) return false;
    if (spot.tape === this.tape && this.summary) await this.seek(spot.line);
    else await this.showTape(spot.tape, spot.line);
    this.select(spot.selected);
    return true;
  }

  // ------------------------------------------------------------------------------------------------------ what is shown

  get scene() {
    return this.#cursor?.scene ?? null;
  }

  get now() {
    return this.#cursor?.now ?? 0;
  }

  get playing() {
    return this.#player.mode === "play";
  }

  get following() {
    return this.#player.mode === "follow";
  }

  get speed() {
    return this.#player.speed;
  }

  get link() {
    if (this.place) return addressOf(this.place.path);
    return addressOfSpot({ tape: this.tape, line: this.scene?.line ?? 1, selected: this.selected }, this.about.tapes);
  }

  /** @param {number} line */
  recordAt(line) {
    return this.#cursor?.recordAt(line) ?? null;
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  async records(from, to) {
    return (await this.#cursor?.chunks.records(from, to)) ?? [];
  }

  /** @param {FindQuery} query */
  async find(query) {
    if (this.place) return findIn(this.place, query);
    return this.#around.server.find(this.tape, query);
  }

  flights() {
    const { summary } = this;
    if (!this.#cursor || !summary) return [];
    const { scene, now } = this.#cursor;
    const passing = this.playing ? this.speed : this.following ? liveSpeed(this.live) : 0;
    const moments = { now, clock: summary.clock, typical: this.#typical, fall: passing * FALL * 1e9 };
    return flightsAt(scene, this.#cursor.around(), moments);
  }

  /**
   * @param {SceneNode} node
   * @returns {Position | null}
   */
  positionOf(node) {
    if (!node.position || !node.velocity || this.summary?.clock === "step") return node.position;
    const seconds = (this.now - node.moved) / 1e9;
    return [node.position[0] + node.velocity[0] * seconds, node.position[1] + node.velocity[1] * seconds];
  }

  // ---------------------------------------------------------------------------------------------------------- moving on

  /** @param {number} line */
  async seek(line) {
    this.#rest();
    if (await this.tried(this.#cursor?.toLine(line))) this.#moved();
  }

  /** @param {Moment} moment */
  async seekTo(moment) {
    if (this.following) this.#rest();
    const wanted = Math.max(0, Math.min(moment, this.summary?.last ?? 0));
    if (await this.tried(this.#cursor?.toMoment(wanted))) this.#moved();
  }

  #moved() {
    this.emit("moment");
    if (!this.place) this.#wantAddress();
  }

  /** @param {1 | -1} by */
  step(by) {
    this.#rest(); // ends a glide at once
    this.#step = this.#step.then(() => this.#stepBy(by));
    return this.#step;
  }

  /** @param {1 | -1} by */
  async #stepBy(by) {
    const cursor = this.#cursor;
    if (!cursor || !this.summary) return;
    if (this.place && by < 0 && cursor.scene.line >= this.summary.lines) {
      if (this.place.path.length > 0) await this.goTo(this.place.path.slice(0, -1));
      return;
    }
    const line = await this.tried(cursor.shownLine(by));
    if (line !== undefined) await (by > 0 ? this.#glideTo(line) : this.seek(line));
  }

  /**
   * To a later line; where steps have no time, messages are seen travelling on the way.
   * @param {number} line
   */
  async #glideTo(line) {
    const cursor = /** @type {Cursor} */ (this.#cursor);
    const record = cursor.recordAt(line);
    const at = record?.step;
    if (at !== undefined && at > cursor.now && !this.#around.calm()) {
      await this.#player.glide(at - 1e-6);
      if (this.#player.mode !== "rest" || cursor !== this.#cursor) return;
    }
    await this.seek(line);
  }

  /**
   * @param {MarkKind} kind
   * @param {boolean} back
   */
  async jump(kind, back) {
    const line = this.scene?.line ?? 1;
    const found = this.place
      ? findIn(this.place, { line, count: 1, back, kind }).found[0]
      : await this.tried(this.#around.server.next(this.tape, { line, kind, back }));
    if (!found?.line) return false;
    await this.seek(found.line);
    return true;
  }

  play() {
    if (!this.summary) return;
    const atEnd = this.now >= this.summary.last;
    if (this.#isLive() && atEnd) {
      this.follow();
      return;
    }
    if (atEnd && !this.summary.grows) {
      this.tried(this.#cursor?.toLine(0)).then(() => this.#setMode("play"));
      return;
    }
    this.#setMode("play");
  }

  pause() {
    this.#rest();
  }

  /** @param {number} speed */
  setSpeed(speed) {
    if (!Number.isFinite(speed) || speed <= 0) return;
    this.#player.speed = speed;
    this.emit("transport");
  }

  follow() {
    if (this.summary) this.#setMode("follow");
  }

  /** @param {Selection | null} what */
  select(what) {
    this.selected = what;
    this.emit("selection");
    if (!this.place) this.#wantAddress();
  }

  /**
   * @param {number} tape
   * @param {number} [line] there it rests; otherwise it plays from where it is interesting
   */
  async showTape(tape, line) {
    const summary = await this.tried(this.#around.server.summary(tape));
    if (!summary) return;
    this.tape = tape;
    this.#chunkCount = -1;
    this.figures = null;
    this.selected = null;
    this.#show(summary, (chunk, after) => this.#around.server.chunk(tape, chunk, after));
    const cursor = /** @type {Cursor} */ (this.#cursor);
    const live = this.#isLive() && line === undefined;
    const request = live || line !== undefined ? null : await this.#next("request");
    await this.tried(cursor.toLine(line ?? (live ? summary.lines : (request?.line ?? 2) - 1)));
    this.#measure();
    this.#player.speed = firstSpeed(summary, this.#typical, arrivalRate(this.#journeys()));
    if (!live && line === undefined) await this.#toViolation(cursor);
    this.#setMode(live ? "follow" : line !== undefined || this.#around.calm() ? "rest" : "play");
    this.emit("selection");
    this.emit("moment");
    this.#wantFigures();
  }

  /** The first line of a kind. @param {MarkKind} kind */
  #next(kind) {
    return this.tried(this.#around.server.next(this.tape, { line: 1, kind, back: false }));
  }

  /** What led to a broken rule is what one wants to see; of a counterexample that is everything. @param {Cursor} cursor */
  async #toViolation(cursor) {
    if (this.summary?.clock === "step") return;
    const at = (await this.#next("violation"))?.at;
    const from = (at ?? 0) - BEFORE_VIOLATION * this.speed * 1e9;
    if (from > cursor.now) await this.tried(cursor.toMoment(from));
  }

  /** @param {Action} action */
  async act(action) {
    try {
      return /** @type {Done} */ (await this.#around.server.act(action));
    } catch (problem) {
      this.wentWrong(problem);
      throw problem;
    }
  }

  // ------------------------------------------------------------------------------------------------------------- checks

  /**
   * @param {number[]} path
   * @param {"push" | "replace" | "keep"} [address] what becomes of the address of the page
   */
  async goTo(path, address = "push") {
    const place = await this.tried(this.#around.server.place(path));
    if (!place) return;
    const before = this.place?.path;
    const { summary, chunk } = tapeOf(place);
    const oldLast = this.summary?.last ?? 0;
    this.place = place;
    this.#rest();
    this.#show(summary, async () => chunk);
    if (address !== "keep") this.#around.address[address](addressOf(place.path));
    const cursor = /** @type {Cursor} */ (this.#cursor);
    this.emit("check");
    if (before && isNext(place.path, before)) {
      await cursor.toMoment(oldLast);
      await this.#glideTo(summary.lines);
    }
    await cursor.toLine(summary.lines);
    this.#measure();
    this.emit("moment");
  }

  /** The address of the page changed: back or forward, or another one was given. */
  addressChanged() {
    const path = pathOf(this.#around.address.hash());
    if (this.about.source !== "check") this.#toAddress();
    else if (path) this.goTo(path, "keep");
  }

  async #watchSearch() {
    const overview = await this.tried(this.#around.server.overview());
    if (overview) {
      this.overview = overview;
      this.emit("check");
    }
    if (!overview?.search.done) this.#around.later(() => this.#watchSearch(), OVERVIEW_EVERY);
  }

  // --------------------------------------------------------------------------------------------------------------- news

  /**
   * @param {boolean} reachable
   * @param {string} why
   */
  serverIs(reachable, why) {
    this.gone = reachable ? null : why;
    this.emit("server");
  }

  /** @param {Update} update */
  async updated(update) {
    this.live = update.playing;
    this.condition = update.condition ?? this.condition;
    this.#newsAt = this.#around.milliseconds();
    for (const { last } of update.tapes) this.#meshClock.heard(last, this.#newsAt);
    this.realSpeed = this.#speedometer.take(update.playing, this.#newsAt);
    if (update.about) {
      const about = await this.tried(this.#around.server.about());
      if (about) this.about = about;
      this.emit("about");
    }
    if (!this.summary && this.about.tapes.length > 0 && this.about.source !== "check") await this.showTape(0);
    const mine = update.tapes.find(({ tape }) => tape === this.tape);
    if (mine && !this.place) await this.#keepUp(mine);
    this.emit("transport");
    this.#player.wake();
  }

  /** One after the other: of news that comes while older news is worked on, only the last counts. @param {News} news */
  async #keepUp(news) {
    this.#news = news;
    if (this.#keepsUp) return;
    this.#keepsUp = true;
    try {
      while (this.#news) {
        const next = this.#news;
        this.#news = null;
        await this.#grow(next);
      }
    } finally {
      this.#keepsUp = false;
    }
  }

  /** @param {News} news */
  async #grow(news) {
    const { summary } = this;
    if (!summary || news.tape !== this.tape || isKnown(summary, news)) return;
    if (!extend(summary, news, this.#chunkCount)) {
      // The header does not change, and may be large.
      const newer = await this.tried(this.#around.server.summary(this.tape, false));
      if (!newer || !this.#cursor || news.tape !== this.tape) return;
      this.#chunkCount = news.chunks;
      this.summary = { ...newer, header: summary.header };
      this.#cursor.chunks.infos = newer.chunks;
    }
    const end = this.summary?.chunks.at(-1);
    if (end && this.following) await this.tried(this.#cursor?.chunks.load(end));
    if (this.#typical === 0) this.#measure();
    this.emit("summary");
    this.#wantFigures();
  }

  async #fetchFigures() {
    const { tape } = this;
    const figures = await this.tried(this.#around.server.figures(tape, BUCKETS));
    if (!figures || tape !== this.tape) return;
    this.figures = figures;
    this.emit("figures");
  }

  // -------------------------------------------------------------------------------------------------------------- inside

  /**
   * @param {Summary} summary
   * @param {(chunk: number, after?: number) => Promise<Chunk>} fetch
   */
  #show(summary, fetch) {
    this.summary = summary;
    this.#meshClock.heard(summary.last + (summary.idle ?? 0) * 1e6, this.#around.milliseconds());
    const chunks = new Chunks(fetch);
    chunks.infos = summary.chunks;
    this.#cursor = new Cursor(chunks, () => this.summary ?? summary);
    this.emit("summary");
  }

  /** Learns from what is at hand how long messages usually take. */
  #measure() {
    this.#typical = typicalFlight(this.#journeys());
  }

  #journeys() {
    return this.#cursor?.around().flatMap((chunk) => chunk?.journeys ?? []) ?? [];
  }

  #isLive() {
    return (this.summary?.grows ?? false) && (this.about.source === "sim" || this.about.source === "mesh");
  }

  #rest() {
    if (this.#player.mode !== "rest") this.#setMode("rest");
  }

  /** @param {"rest" | "play" | "follow"} mode */
  #setMode(mode) {
    this.#player.set(mode);
    this.emit("transport");
    if (!this.place) this.#wantAddress();
  }

  #liveMoment() {
    const time = this.#around.milliseconds();
    if (this.about.source === "mesh" && this.summary?.grows && this.gone === null) {
      const moment = this.#meshClock.now(time);
      return { moment, known: moment, rate: 1e9, pace: 1e9, moving: true };
    }
    return liveMoment(this.summary, this.live, time - this.#newsAt, this.about.source);
  }

  /** @returns {import("./player.js").Track} */
  #track() {
    return {
      now: () => this.now,
      advanceTo: (moment) => this.#cursor?.advanceTo(moment) ?? false,
      end: () => ({ moment: this.summary?.last ?? 0, final: !this.summary?.grows }),
      unit: () => (this.summary?.clock === "step" ? 1 : 1e9),
      live: () => this.#liveMoment(),
      // Steps have no time: there messages fly within their step.
      flights: (from, to) =>
        this.#cursor && this.summary?.clock === "time_ns" ? flightsBetween(this.#cursor.around(), from, to) : [],
      changed: () => {
        this.emit("moment");
        if (this.#player.mode === "rest") this.emit("transport");
      },
    };
  }
}
