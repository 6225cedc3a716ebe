import assert from "node:assert/strict";
import { test } from "node:test";
import { badgeOf } from "../../app/panels/header.js";
import { tape } from "./samples.js";

/** @import { About } from "../../app/types.d.ts" */

const playing = { paused: false, speed: 1, now: 0, over: false, range: null, pace: 1, replay: null };

/** @param {About["source"]} source @param {Partial<Parameters<typeof badgeOf>[0]> & { grows?: boolean }} [more] */
function badge(source, { grows = true, ...more } = {}) {
  const about = { version: "", source, title: "", tapes: [], can: [], notes: [] };
  const summary = { ...tape([], 1).summary, grows };
  const { words, look } = badgeOf({ about, summary, following: true, live: null, gone: null, ...more });
  return look === "" ? words : `${words} (${look})`;
}

test("the badge says whether one sees what is so now", () => {
  assert.equal(badge("mesh"), "live mesh (live)");
  assert.equal(badge("mesh", { following: false }), "live mesh, looking back");
  assert.equal(badge("mesh", { grows: false }), "live mesh, at its end");
  assert.match(badge("mesh", { gone: "no answer" }), /not connected.*\(gone\)/);
  assert.equal(badge("sim", { live: playing }), "simulation (live)");
  assert.equal(badge("sim", { live: { ...playing, paused: true } }), "simulation, paused");
  assert.equal(badge("trace", { grows: false, following: false }), "recording");
  assert.equal(badge("check", { grows: false, following: false }), "state graph");
});
