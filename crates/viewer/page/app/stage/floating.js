// Buttons over the picture: nearer, farther, all; and at a selected link, cut or restore.

/** @import { NodeId } from "../types.d.ts" */
/** @import { Stage } from "./index.js" */

/**
 * @param {Stage} stage
 * @returns {{ place: () => void }} `place` is called with every frame
 */
export function addFloating(stage) {
  const { viewer, camera, element } = stage;
  const tools = document.createElement("div");
  tools.className = "stage-tools";
  tools.append(
    button("+", "Nearer (key +)", () => zoom(1.4)),
    button("−", "Farther (key -)", () => zoom(1 / 1.4)),
    button("⤢", "Show all (key 0)", stage.fit),
  );
  const cut = button("Cut", "", () => {
    const link = chosenLink();
    if (link) viewer.act({ do: "link", between: link, up: !isUp(link) }).catch(() => {}); // the viewer told the user
  });
  cut.className = "stage-float";
  cut.hidden = true;
  element.append(cut, tools);

  /** @param {number} factor */
  function zoom(factor) {
    camera.zoom(factor);
    stage.redraw();
  }

  /** @returns {[NodeId, NodeId] | null} */
  function chosenLink() {
    return viewer.selected && "link" in viewer.selected ? viewer.selected.link : null;
  }

  /** @param {[NodeId, NodeId]} link */
  function isUp(link) {
    return viewer.scene?.links.some(([a, b]) => a === link[0] && b === link[1]) ?? false;
  }

  return {
    place() {
      const link = chosenLink();
      const a = link && stage.frame()?.byId.get(link[0]);
      const b = link && stage.frame()?.byId.get(link[1]);
      cut.hidden = !link || !a || !b || !viewer.about.can.includes("link");
      if (cut.hidden || !link || !a || !b) return;
      const words = isUp(link) ? "Cut" : "Restore";
      if (cut.textContent !== words) {
        cut.textContent = words;
        cut.setAttribute("aria-label", `${words} the link between ${a.node.name} and ${b.node.name}`);
      }
      cut.style.transform = `translate(${(a.x + b.x) / 2}px, ${(a.y + b.y) / 2}px) translate(-50%, 12px)`;
    },
  };
}

/**
 * @param {string} text
 * @param {string} title
 * @param {() => void} press
 */
function button(text, title, press) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.title = title;
  if (title) made.setAttribute("aria-label", title);
  made.addEventListener("click", press);
  return made;
}
