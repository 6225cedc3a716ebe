import assert from "node:assert/strict";
import { test } from "node:test";
import { seenPasses } from "../../app/passes.js";

/** @param {number} line @param {number} from @param {number} to @param {number} sent */
const pass = (line, from, to, sent) => ({
  message: { line, from, to, sent, message: "token" },
  journey: /** @type {any} */ ({ at: sent + 1, lost: false }),
});

test("passes that follow each other at once are seen one after the other", () => {
  const passes = [pass(1, 0, 1, 100), pass(2, 1, 2, 101), pass(3, 2, 3, 102)];
  for (const [now, from, towards] of [
    [100, 0, 3],
    [149, 0, 3],
    [151, 1, 3],
    [201, 2, 3],
  ]) {
    const seen = seenPasses(passes, now, 50, 1);
    assert.deepEqual(
      seen.map((one) => [one.pass.message.from, one.towards]),
      [[from, towards]],
      `at ${now}`,
    );
  }
  assert.deepEqual(seenPasses(passes, 250, 50, 1), []);
});

test("a slow flight is seen as it is, and two tokens are two", () => {
  const slow = { ...pass(1, 0, 1, 100), journey: /** @type {any} */ ({ at: 300, lost: false }) };
  assert.equal(seenPasses([slow], 200, 50, 1)[0].progress, 0.5);
  assert.equal(seenPasses([pass(1, 0, 1, 100), pass(2, 5, 6, 100)], 110, 50, 1).length, 2);
});

test("a token that is passed on without a rest does not fall behind for ever", () => {
  const passes = Array.from({ length: 100 }, (_, i) => pass(i, i, i + 1, i * 20));
  const seen = seenPasses(passes, 1000, 50, 1);
  assert.equal(seen.length, 1);
  assert.ok(seen[0].pass.message.sent > 1000 - 4 * 50, `${seen[0].pass.message.sent}`);
});
