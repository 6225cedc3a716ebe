// What the page and its server tell each other, and what the parts of the page share. The trace itself is described in
// docs/trace-format.md; here stands only what the page uses of it.

export type NodeId = number;
/** Nanoseconds, or steps where a trace has no time. */
export type Moment = number;
export type Position = [number, number];

// ---------------------------------------------------------------------------------------------------------- the trace

export interface Header {
  source: "check" | "sim" | "node";
  protocol: string;
  variant: string;
  parameters?: Record<string, unknown>;
  seed?: number;
  made_by?: string;
  replay?: string;
  nodes: NodeInfo[];
  links?: [NodeId, NodeId][];
}

export interface NodeInfo {
  id: NodeId;
  name: string;
  position?: Position;
  view?: View;
  resumed?: boolean;
}

export interface Height {
  level: number;
  depth: number;
  id: NodeId;
}

export interface View {
  role?: string;
  height?: Height;
  token?: Token;
  keeps_copy?: boolean;
  by_permission?: boolean;
  neighbours?: NodeId[];
  asked?: NodeId;
  queue?: Claimant[];
  waiting?: Waiting[];
  holding?: Grant[];
  returning?: { grant: { node: NodeId; request: number } | null; units: number }[];
  capacity?: number;
  leaving?: boolean;
  captain?: NodeId;
  followers?: number;
}

export interface Token {
  pass?: number | null;
  free?: number;
  capacity?: number;
  ledger?: { grant: { node: NodeId; request: number }; units: number; session: number | null }[] | null;
  session?: number | null;
  queue?: Claimant[];
  followers?: number | null;
}

export interface Claimant {
  origin: { local: number } | { node: NodeId };
  rank: number;
  units: number;
  session: number | null;
}

export interface Waiting {
  request: number;
  rank: number;
  units: number;
  session: number | null;
}

export interface Grant {
  request: number;
  units: number;
  session: number | null;
  fence: number | null;
}

export type Urgency = { priority: number } | { deadline: number };

export interface Demand {
  units: number;
  urgency: Urgency;
  session: number | null;
}

/** An object with one field, its name; or the mere string "leave" or "resume". */
export type Event =
  | "leave"
  | "resume"
  | { request: { request: number; demand: Demand } }
  | { cancel: { request: number } }
  | { reprioritize: { request: number; urgency: Urgency } }
  | { release: { request: number; units: number } }
  | { "link-up": { neighbour: NodeId } }
  | { "link-down": { neighbour: NodeId } }
  | { receive: { from: NodeId; message: Message } }
  | { expired: { timer: unknown } }
  | { resize: { version: number; capacity: number } }
  | { census: { census: Census } }
  | { remake: { remake: { first: number; rows: [NodeId, unknown][] } } };

/** Who came and who is gone, by member (the lower 16 bits of an id): 2i + 1 while incarnation i is living, 2i + 2 when it is
 *  gone. */
export interface Census {
  counts: Record<string, number>;
  removed: number[];
  goodbyes?: Record<string, [number, number]>;
}

export type Effect =
  | { send: { to: NodeId; message: Message } }
  | { multicast: { to: NodeId[]; message: Message } }
  | { broadcast: { message: Message } }
  | { granted: { grant: Grant } }
  | { arm: { timer: unknown; after: { least_ms: number; most_ms: number } } }
  | { reject: { from: NodeId; reason: unknown } };

/** Up to the protocol. */
export type Message = unknown;

/** One line of a trace after the first. It has `step` or `time_ns`, and one of the fields that tell its kind. */
export interface Record_ {
  step?: number;
  time_ns?: number;
  node?: NodeId;
  event?: Event;
  effects?: Effect[];
  view?: View;
  misuse?: string;
  cause?: number;
  link?: { between: [NodeId, NodeId]; up: boolean };
  /** `gone`: the node is not there any more (switched off, driven away), until it moves again. */
  move?: { node: NodeId; position: Position; velocity?: Position; gone?: boolean; crashed?: boolean };
  lost?: { from: NodeId; to: NodeId; message: Message; cause?: number };
  join?: NodeInfo;
  end?: End;
}

export interface End {
  violation?: { rule: string; node?: NodeId; what: string };
  repeats_from?: number;
  totals?: Record<string, unknown>;
}

// ---------------------------------------------------------------------------------------------------------- the scene

/** Everything at one moment: after all lines up to and including `line`. The server makes one for the beginning of every
 *  chunk (crates/viewer/src/scene.rs); the page goes on from there (scene.js). Both must do exactly the same. */
export interface Scene {
  line: number;
  at: Moment;
  /** Ordered by id. */
  nodes: SceneNode[];
  /** Links that are up; the lower id first, ordered. */
  links: [NodeId, NodeId][];
  /** Messages that were sent and have neither arrived nor been lost, in the order of sending. */
  under_way: UnderWay[];
  end: End | null;
}

export interface SceneNode {
  id: NodeId;
  name: string;
  /** Where it was at `moved`; from there it goes on with `velocity` (metres per second). */
  position: Position | null;
  velocity: Position | null;
  moved: Moment;
  gone: boolean;
  /** It is gone because it crashed. */
  crashed: boolean;
  /** What it has heard of who is gone; null where nodes do not recover. */
  census: Census | null;
  /** When it made a lost token anew, as the heir of a crash. */
  remade: Moment | null;
  /** Its last view; null if the trace has none. */
  view: View | null;
  /** Its requests that are open, in the order of asking, told from events alone: known also without views. */
  open: OpenRequest[];
}

export interface OpenRequest {
  request: number;
  units: number;
  urgency: Urgency;
  session: number | null;
  asked: Moment;
  granted: Moment | null;
  fence: number | null;
}

export interface UnderWay {
  /** The line that sent it. */
  line: number;
  from: NodeId;
  to: NodeId;
  sent: Moment;
  message: Message;
}

// --------------------------------------------------------------------------------------------------------- the server
//
// Every answer has the header `meshlock-instance`, which tells one run of the program from the next: the page begins anew
// when it changes. All answers are JSON. A refusal has a status of 400 or above and the body {"message": "..."}, for people.
// With a token: header `Authorization: Bearer TOKEN` in every request to /api.
//
//   GET  /api/about                                  About
//   GET  /api/tapes/{tape}?header=false              Summary; without its header if that is false
//   GET  /api/tapes/{tape}/chunks/{chunk}?after=LINE Chunk; `after` leaves out the scene and the records up to LINE
//   GET  /api/tapes/{tape}/next?line=L&kind=K&back=B Found: the next line after (or last before) L with a mark of kind K
//   GET  /api/tapes/{tape}/find?line=L&count=N&back=B&text=T&node=I&kind=K
//                                                    FoundRecords: for the list of events; filters are optional
//   GET  /api/tapes/{tape}/figures?buckets=N         Figures: for the timeline and the charts
//   GET  /api/updates                                one Update per line (JSON lines), now and whenever something changed;
//                                                  an empty line every two seconds without changes
//   POST /api/act                                    body Action, answer Done
//   GET  /api/check                                  Overview (only where About.source is "check")
//   GET  /api/check/at/{path}                        Place; path is step numbers joined by dots, "start" for none

export interface About {
  version: string;
  source: "trace" | "sim" | "mesh" | "check";
  /** A file, a scenario, a mesh, a model. */
  title: string;
  /** One for each resource; one in all for other sources; none for a check. */
  tapes: { name: string }[];
  /** What one may do here; see Action. */
  can: Action["do"][];
  /** Why nothing can be done here, or what else should be known; may be empty. */
  notes: string[];
}

export interface Summary {
  header: Header;
  clock: "step" | "time_ns";
  /** The chunks that can be had, in order. Old ones of a long live tape are dropped. */
  chunks: ChunkInfo[];
  /** The last line so far. */
  lines: number;
  /** The moment of the last line. */
  last: Moment;
  /** Of a live tape: milliseconds since its last line. */
  idle?: number;
  /** More lines may come. */
  grows: boolean;
  /** How much of a file has been read, 0 to 1. */
  read: number;
  /** Why reading ended before the end of the file. What was read can be shown. */
  problem: string | null;
  /** Whether records have views. Without them heights, queues and the token are unknown. */
  views: boolean;
  end: End | null;
}

export interface ChunkInfo {
  /** The number of the chunk, for its address. */
  chunk: number;
  /** The first line of its records. */
  line: number;
  /** How many records. */
  records: number;
  /** Moments of its first and last record. */
  from: Moment;
  to: Moment;
}

export interface Chunk {
  chunk: number;
  line: number;
  /** Before the first record; null if `after` was given. */
  scene: Scene | null;
  /** The records of lines `line`, `line` + 1, ... (blank lines are null). */
  records: (Record_ | null)[];
  /** Characters of this answer, counted by the page. */
  size?: number;
}

export type MarkKind = "grant" | "request" | "release" | "violation" | "link" | "lost" | "token" | "end";

export interface Found {
  line: number | null;
  at: Moment | null;
}

export interface FoundRecords {
  found: { line: number; record: Record_ }[];
  /** Where to go on searching; null at the end. */
  more: number | null;
}

/** Everything by equal spans of time (or steps) from 0 to `last`. */
export interface Figures {
  last: Moment;
  /** How many marks of a kind. */
  marks: Partial<Record<MarkKind, number[]>>;
  /** The mean and the longest wait of the grants of each span, in the clock of the trace; null where there were none. */
  waiting: (number | null)[];
  longest: (number | null)[];
  /** Units in use at the end of each span. */
  in_use: number[];
  /** How many wait at the end of each span. */
  queued: number[];
  /** Messages sent in each span (each receiver counts), and grants. */
  messages: number[];
  grants: number[];
  /** Units of the resource, if known. */
  capacity: number | null;
}

export interface Update {
  /** By tape: how far it goes. A tape that is not here has not changed since the last update. */
  tapes: { tape: number; lines: number; last: Moment; chunks: number; grows: boolean; read: number }[];
  /** How a live simulation goes; null elsewhere. */
  playing: Playing | null;
  /** About has changed (a resource is new): fetch it again. */
  about: boolean;
  /** Null if it has not changed. */
  condition?: Condition | null;
}

/** How the nodes of a live mesh are, beyond what tapes tell. */
export interface Condition {
  /** Nodes that grant nothing now, and why. */
  suspended: [NodeId, string][];
  /** A repair that is not over: who makes lost tokens anew, whose reports are missing, whether only the voters are. */
  repair: { heir: NodeId | null; missing: NodeId[]; asks_voters: boolean } | null;
}

export interface Playing {
  paused: boolean;
  /** Simulated seconds per second. */
  speed: number;
  /** Where it is. */
  now: Moment;
  /** The scenario is over. */
  over: boolean;
  /** Metres, where there is a radio. */
  range: number | null;
  /** How many times as fast as the scenario says nodes move. */
  pace: number;
  /** The command that runs this again, with everything that was done; null if that cannot be had. */
  replay: string | null;
}

export type Action =
  | { do: "play" }
  | { do: "pause" }
  /** So many events, while paused. */
  | { do: "step"; events: number }
  | { do: "speed"; factor: number }
  | { do: "move"; node: NodeId; to: Position }
  | { do: "link"; between: [NodeId, NodeId]; up: boolean }
  | { do: "add"; at: Position | null }
  | { do: "remove"; node: NodeId }
  /** No goodbye: as a crash. */
  | { do: "kill"; node: NodeId }
  | { do: "restart"; node: NodeId }
  | { do: "range"; metres: number }
  | { do: "pace"; factor: number }
  | { do: "request"; tape: number; node: NodeId; units: number; priority: number; session: number | null }
  /** Gives back a grant, or gives up a request that waits. */
  | { do: "release"; tape: number; node: NodeId; request: number };

export interface Done {
  /** The node that was added. */
  node?: NodeId;
  /** The request that was made. */
  request?: number;
}

// -------------------------------------------------------------------------------------------------------- the checker

export interface Overview {
  model: string;
  /** The command for this model. */
  command: string;
  properties: Property[];
  /** How far the search for broken properties has come. */
  search: { states: number; depth: number; done: boolean; verdict: string };
}

export interface Property {
  name: string;
  words: string;
  /** "always": must hold; a path is a counterexample. "sometimes": can be reached; a path is an example. */
  kind: "always" | "sometimes";
  state: "searching" | "holds" | "broken" | "found" | "not-found" | "not-watched";
  /** A shortest path that shows it. */
  path: number[] | null;
}

export interface Place {
  path: number[];
  /** The way there as a trace. */
  header: Header;
  records: Record_[];
  /** What may happen next, in the order of the numbers of a path. */
  next: Next[];
  /** What is wrong here, if something is. */
  broken: { rule: string; words: string; what: string } | null;
  /** Nothing is under way. */
  quiet: boolean;
}

export interface Next {
  /** In words: "node 1 gets token from 0". */
  label: string;
  /** Where it happens. */
  node: NodeId | null;
  /** It would break a rule. */
  breaks: string | null;
}

// ------------------------------------------------------------------------------------------------ the parts of the page

/** What all parts of the page share (viewer.js). Parts never talk to each other but through it. */
export interface Viewer {
  readonly about: About;
  /** The tape that is shown. Null for a check before its first place, and while loading. */
  readonly summary: Summary | null;
  readonly tape: number;
  /** Everything at the present moment. Nodes are moved on to `now`: ask `positionOf`. */
  readonly scene: Scene | null;
  /** The moment that is shown: between the moment of the scene's line and that of the next line. For steps a fraction
   *  shows messages on their way. */
  readonly now: Moment;
  readonly playing: boolean;
  /** Of time: seconds per second. Of steps: steps per second. */
  readonly speed: number;
  /** It follows the end of a live tape. */
  readonly following: boolean;
  readonly live: Playing | null;
  /** How many simulated seconds really go by in a second; null if that is not known (yet). */
  readonly realSpeed: number | null;
  readonly figures: Figures | null;
  readonly selected: Selection | null;
  /** Only where about.source is "check". */
  readonly overview: Overview | null;
  readonly place: Place | null;
  /** How the nodes of a live mesh are now. */
  readonly condition: Condition;
  /** The end of an address that leads to what is shown: tape, line and selection, or a path of a check. */
  readonly link: string;
  /** Why the server does not answer; null while it does. What is shown is then the last that was heard. */
  readonly gone: string | null;

  /** Records around the present line that are at hand, by line; for the list, the diagram and the flights. */
  recordAt(line: number): Record_ | null;
  /** All records of the lines from..to (inclusive) that can be had, fetched if need be. */
  records(from: number, to: number): Promise<{ line: number; record: Record_ }[]>;
  find(query: FindQuery): Promise<FoundRecords>;
  /** Messages that are on their way at `now`, each with how far it is, 0 to 1. */
  flights(): Flight[];
  positionOf(node: SceneNode): Position | null;

  seek(line: number): Promise<void>;
  seekTo(moment: Moment): Promise<void>;
  /** By records that show something: +1, -1. */
  step(by: 1 | -1): Promise<void>;
  jump(kind: MarkKind, back: boolean): Promise<boolean>;
  play(): void;
  pause(): void;
  setSpeed(speed: number): void;
  follow(): void;
  select(what: Selection | null): void;
  /** At a line, or where it is interesting. */
  showTape(tape: number, line?: number): Promise<void>;
  act(action: Action): Promise<Done>;
  /** Only for a check: go to a path, which becomes the address of the page. */
  goTo(path: number[]): Promise<void>;

  on<K extends keyof ViewerEvents>(name: K, listener: ViewerEvents[K]): void;
}

export type Selection = { node: NodeId } | { link: [NodeId, NodeId] } | { line: number };

export interface FindQuery {
  line: number;
  count: number;
  back?: boolean;
  text?: string;
  node?: NodeId;
  kind?: MarkKind | "event" | "message";
}

export interface ViewerEvents {
  /** The moment or the scene changed: draw. Comes once per frame while playing. */
  moment: () => void;
  /** Another tape, or more of the present one. */
  summary: () => void;
  figures: () => void;
  selection: () => void;
  /** Playing, speed, following, or how a live simulation goes. */
  transport: () => void;
  about: () => void;
  /** The overview of the check or the place in it. */
  check: () => void;
  /** The server answers no more, or again. */
  server: () => void;
  /** Something to tell the user. */
  notice: (notice: { text: string; kind: "info" | "error" }) => void;
}

export interface Flight {
  line: number;
  from: NodeId;
  to: NodeId;
  /** 0: just sent, 1: arrives now. */
  progress: number;
  kind: string;
  token: boolean;
  lost: boolean;
}

/** A part of the page is a function that fills an element and draws itself again when told so. */
export type Part = (viewer: Viewer, element: HTMLElement) => void;

/** What the viewer needs of the page around it; tests have others. */
export interface Surroundings {
  server: Pick<
    import("./server.js").Server,
    "about" | "summary" | "chunk" | "next" | "find" | "figures" | "act" | "overview" | "place"
  >;
  requestFrame: (callback: (time: number) => void) => unknown;
  milliseconds: () => number;
  later: (callback: () => void, ms: number) => unknown;
  /** Whether the user wants as little motion as possible. */
  calm: () => boolean;
  address: { hash: () => string; push: (hash: string) => void; replace: (hash: string) => void };
}
