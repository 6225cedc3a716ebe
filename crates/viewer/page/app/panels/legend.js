// For newcomers: what the protocol does, in a few sentences, and what the symbols of the picture mean.

/** @import { Header } from "../types.d.ts" */

import { h } from "./dom.js";
import { symbols } from "./symbols.js";

/** @type {Record<string, string[]>} */
const PROTOCOLS = {
  "reverse-link": [
    "There is one token, and only the node that holds it grants requests.",
    "Every node has a height, and every link points downhill; the token is at the lowest point. A node that wants " +
      "something tells its neighbour downhill, and the request runs down to the token.",
    "Each node keeps a queue of the requests it heard, the most urgent first. The token comes back up the same path, " +
      "and the links it crosses turn around: it is again at the lowest point.",
    "When a link breaks and a node has no neighbour downhill any more, it lifts itself above its neighbours. So there " +
      "is always a path down.",
  ],
  flood: [
    "There is one token, and only the node that has it may enter.",
    "A node that wants it tells all neighbours, and every node repeats a request once: it floods the mesh.",
    "The holder floods the token to the next in line; only that node takes it. The token carries the queue with it.",
    "If a flood misses a node, a timer expires and the request is repeated. A copy of the token has the same number " +
      "as the original, so only one of them counts.",
  ],
  group: [
    "Requests belong to sessions: nodes of the same session may be inside together, of different sessions never.",
    "There is one token. The node that gets it for a new session is its captain; those that join are its followers.",
    "A request for the open session may join as long as none waits for another one.",
    "When the captain and all followers are out, the token goes to the next session in line.",
  ],
  central: [
    "One node decides for all: the coordinator.",
    "A node that wants to enter asks it, waits for the grant, and releases it when done: three messages per entry.",
    "Simple and cheap, but nothing works without the coordinator. A baseline to compare with.",
  ],
  raymond: [
    "There is one token on a tree of nodes. Every node knows which neighbour leads to it.",
    "A request goes along the tree to the token; each node on the way remembers who asked.",
    "The token comes back along the same way. A classic baseline to compare with.",
  ],
  "suzuki-kasami": [
    "There is one token, and only the node that has it may enter.",
    "A node that wants it asks all others. The holder sends it to the next in the queue that the token carries.",
    "A classic baseline: every node must reach every other one.",
  ],
  "naimi-trehel": [
    "There is one token, and only the node that has it may enter.",
    "Each node knows who probably asked last; a request follows that trail to the end of the queue.",
    "The token then goes straight from each node to the next one in the queue. A classic baseline.",
  ],
  "ricart-agrawala": [
    "There is no token: a node enters when all others have allowed it.",
    "A node that wants to enter asks all others; those that asked earlier, or are inside, answer when they are done.",
    "A classic baseline: it costs two messages for every other node.",
  ],
  lamport: [
    "There is no token: every node keeps the same queue of requests, ordered by a shared clock.",
    "A node that is first in its own queue, and has heard from all others since, may enter.",
    "A classic baseline: it costs three messages for every other node.",
  ],
  raynal: [
    "There is no token: a node enters when enough others have allowed it, so that no more units are used than there are.",
    "A node that wants units asks all others; the answers tell how many units are taken.",
    "A classic baseline for several units.",
  ],
};

const OTHERWISE = [
  "Nodes share a resource: only so many of them may be inside at once.",
  "A node requests, waits for the grant, and releases it when it is done. Messages between the nodes see to it.",
];

/** @param {Header} header */
export function protocolWords(header) {
  const words = PROTOCOLS[header.protocol] ?? OTHERWISE;
  const over =
    header.parameters?.over === "relay" ? ["Messages to far nodes are carried on by those between them."] : [];
  const published =
    header.variant === "published" || header.variant === "literal"
      ? ["This is the text as it was published, with its known mistakes: rules may break."]
      : [];
  return [...words, ...over, ...published];
}

/** @param {Header} header */
export function legend(header) {
  return h(
    "section",
    { class: "stack" },
    h("h2", {}, "What happens here"),
    h(
      "ol",
      {},
      protocolWords(header).map((words) => h("li", {}, words)),
    ),
    h("h2", {}, "How to read the picture"),
    symbols(header),
  );
}
