import assert from "node:assert/strict";
import { test } from "node:test";
import { cornersOf, looksOf } from "../../app/stage/draw-flights.js";

/** @param {import("../../app/stage/draw-flights.js").Shape} shape @param {number} angle */
function turned(shape, angle) {
  if (shape === "circle") return shape;
  return cornersOf(shape, { ux: Math.cos(angle), uy: Math.sin(angle) });
}

test("shapes stand upright on every link: a square is no diamond", () => {
  const eighth = Math.PI / 4;
  assert.deepEqual(turned("square", eighth), turned("square", 0));
  assert.deepEqual(turned("diamond", eighth), turned("diamond", 0));
  assert.notDeepEqual(turned("triangle", eighth), turned("triangle", 0));
});

test("only what is lost is a cross", () => {
  for (const kind of ["withdraw", "cancel"]) assert.equal(looksOf(kind).shape, "bar");
});
