// Shortcuts of the whole page. What has the focus comes first: fields, lists and sliders keep their own keys.

/** @import { MarkKind, Viewer } from "../types.d.ts" */

import { typing } from "./dom.js";
import { say } from "./notices.js";

/** @type {Record<string, MarkKind>} */
const JUMPS = { g: "grant", v: "violation", l: "link" };

/** @param {Viewer} viewer @param {Document} page */
export function keys(viewer, page) {
  page.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const act = action(viewer, page, event);
    if (!act) return;
    event.preventDefault();
    act();
  });
}

/** @param {Viewer} viewer @param {Document} page @param {KeyboardEvent} event @returns {(() => void) | null} */
function action(viewer, page, event) {
  const letter = event.key.toLowerCase();
  const onButton = event.target instanceof HTMLElement && event.target.closest("button, summary, a, [role=tab]");
  if (event.key === " ") return onButton ? null : () => playOrPause(viewer);
  if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
    const back = event.key === "ArrowLeft";
    if (event.target instanceof HTMLElement && event.target.closest("[role=tab]")) return null;
    return () => (event.shiftKey ? jump(viewer, "grant", back) : viewer.step(back ? -1 : 1));
  }
  if (letter in JUMPS) return () => jump(viewer, JUMPS[letter], event.shiftKey);
  if (event.key === "Home") return () => viewer.seek(1);
  if (event.key === "End") return () => viewer.seek(viewer.summary?.lines ?? 1);
  if (letter === "f") return () => viewer.follow();
  if (event.key === "Escape") return () => viewer.select(null);
  if (event.key === "?") return () => page.querySelector("dialog")?.showModal();
  return null;
}

/** Who follows a live source can stop it as well. @param {Viewer} viewer */
export function playOrPause(viewer) {
  if (viewer.playing || viewer.following) viewer.pause();
  else viewer.play();
}

/** Goes to the next mark; says so if there is none. @param {Viewer} viewer @param {MarkKind} kind @param {boolean} back */
export async function jump(viewer, kind, back) {
  if (await viewer.jump(kind, back)) return;
  const words = kind === "link" ? "change of a link" : kind;
  say(`No ${words} ${back ? "before" : "after"} this moment.`);
}
