import assert from "node:assert/strict";
import { test } from "node:test";
import { inside } from "../../app/stage/drag.js";

test("a node that is dragged over the border of the area stays at the border", () => {
  assert.deepEqual(inside([-0.7, 41], [60, 40]), [0, 40]);
  assert.deepEqual(inside([3, 4], [60, 40]), [3, 4]);
  assert.deepEqual(inside([-3, 4], null), [-3, 4]);
});
