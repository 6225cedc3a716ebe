// How the buttons over the picture look. A style sheet of its own, so that the stage brings all it needs.

const STYLE = `
.stage { position: relative; overflow: hidden; min-height: 0; }
.stage > canvas { position: absolute; inset: 0; width: 100%; height: 100%; display: block; touch-action: none; }
.stage > canvas:focus-visible { outline: 2px solid var(--accent, #0b62b0); outline-offset: -2px; }
.stage-tools { position: absolute; right: 10px; bottom: 10px; display: flex; flex-direction: column; gap: 4px; }
.stage-tools button { width: 30px; height: 30px; min-height: 30px; padding: 0; font-size: 17px; line-height: 1; }
.stage button {
  font: inherit; color: var(--ink, #1d2733); background: var(--ground, #fff); cursor: pointer;
  border: 1px solid var(--line, #c3ccd6); border-radius: 6px; padding: 3px 10px;
}
.stage button:hover { background: var(--panel, #f4f6f8); }
.stage-spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.stage-float { position: absolute; left: 0; top: 0; will-change: transform; }
.stage-menu {
  position: absolute; z-index: 3; min-width: 150px; padding: 4px; display: flex; flex-direction: column;
  background: var(--ground, #fff); border: 1px solid var(--line, #c3ccd6); border-radius: 8px;
  box-shadow: 0 6px 24px rgb(0 0 0 / 0.18);
}
.stage-menu button { border: 0; border-radius: 5px; text-align: left; padding: 5px 10px; }
.stage-menu button:focus-visible, .stage-menu button:hover { background: var(--panel, #f4f6f8); }
.stage-menu .title { padding: 4px 10px; color: var(--muted, #667585); font-size: 0.86em; }
`;

let added = false;

/** Adds the style sheet to the page, once. */
export function addStyle() {
  if (added) return;
  added = true;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}
