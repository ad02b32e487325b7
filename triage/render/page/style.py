"""Style: the page's style sheet, its one script, and the policy that allows no others.

Both stand inside the page; the policy names them by hash, so that markup which slipped
through from a log could neither run nor restyle nor load anything.
"""

import base64
import hashlib

CSS = """
:root { color-scheme: light dark; --page: #ffffff; --ink: #1f2328; --soft: #57606a;
  --line: #d0d7de; --panel: #f6f8fa; --bad: #c4232f; --bad-soft: #ffe3e0; --may: #9a6700;
  --may-soft: #fff3d1; --good: #1a7f37; --waiting: #8fbfe8; --idle: #d5dce3; --arrow: #6e7781; }
@media (prefers-color-scheme: dark) { :root { --page: #0f1318; --ink: #e6edf3; --soft: #9aa5b1;
  --line: #343b44; --panel: #181e25; --bad: #ff7b72; --bad-soft: #4a1c1c; --may: #e3b341;
  --may-soft: #3d2f0c; --good: #56d364; --waiting: #2f5f8a; --idle: #3a424c; --arrow: #8b949e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1.25rem 4rem; max-width: 66rem; color: var(--ink);
  background: var(--page); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: .5rem 0 1rem; text-wrap: pretty; }
h2 { font-size: 1.1rem; margin: 2.25rem 0 .6rem; }
p { margin: .4rem 0; }
ul { margin: .3rem 0; padding-left: 1.25rem; }
.mono, pre, code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .86rem; }
.soft { color: var(--soft); }
.kind { display: inline-block; padding: .1rem .6rem; border: 2px solid currentColor;
  border-radius: 1rem; font-weight: 600; font-size: .85rem; text-transform: uppercase;
  letter-spacing: .04em; color: var(--bad); }
.kind.healthy { color: var(--good); }
.kind.inconclusive, .kind.straggler { color: var(--may); }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: 0;
  padding: .8rem 1rem; background: var(--panel); border-radius: 8px; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
caption { text-align: left; color: var(--soft); font-size: .9rem; padding-bottom: .3rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0;
  border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 500; font-size: .85rem; white-space: nowrap; }
tbody th { font-weight: 600; }
td, tbody th { min-width: 4rem; }
.suspects tbody tr:first-child > * { border-bottom: 0; padding-top: .7rem; }
.suspects tbody tr:first-child > :first-child { border-left: 4px solid var(--line);
  padding-left: .8rem; min-width: 2rem; }
.suspects thead th:first-child { padding-left: calc(.8rem + 4px); }
.suspects .reasons td { padding: 0 0 .8rem .8rem; border-left: 4px solid var(--line); }
.suspects tbody.culprit tr > :first-child { border-left-color: var(--bad); }
.suspects tbody.possible tr > :first-child { border-left: 4px dashed var(--may); }
.suspects .culprit .role { color: var(--bad); font-weight: 600; }
.suspects .possible .role { color: var(--may); font-weight: 600; }
.short { white-space: nowrap; }
.count { text-align: right; font-variant-numeric: tabular-nums; }
.legend th[scope=row] { white-space: nowrap; }
.legend svg { vertical-align: -2px; }
pre { background: var(--panel); border-radius: 8px; padding: .8rem 1rem; overflow-x: auto; }
details { margin: .6rem 0; }
summary { cursor: pointer; color: var(--soft); }
:focus-visible { outline: 2px solid var(--may); outline-offset: 2px; }
svg { display: block; }
.legend svg { display: inline-block; }
.graph .box path { fill: var(--page); stroke: var(--soft); }
.graph .culprit path { fill: var(--bad-soft); stroke: var(--bad); }
.graph .possible path { fill: var(--may-soft); stroke: var(--may); }
.graph .no_dump path { fill: var(--panel); stroke: var(--soft); }
.graph .box text { fill: var(--ink); }
.graph .wait { stroke: var(--arrow); }
.graph .tip, .graph .number { fill: var(--arrow); }
.graph .number { paint-order: stroke; stroke: var(--page); stroke-width: 4px; }
.grid text.name { font: 12px system-ui, sans-serif; fill: var(--soft); }
.grid .state { shape-rendering: crispEdges; }
.grid .lines { shape-rendering: crispEdges; stroke: var(--page); stroke-width: 1; fill: none; }
.grid path.culprit { fill: var(--bad); }
.grid path.possible { fill: var(--may); }
.grid path.waiting { fill: var(--waiting); }
.grid path.idle { fill: var(--idle); }
.grid path.no_dump { fill: url(#hatch); }
.grid path.unknown { fill: url(#dots); }
.hatch-ground { fill: var(--panel); }
.hatch-line { stroke: var(--ink); stroke-width: 1; }
.dot { fill: var(--soft); }
.grid .sign { font: bold 13px system-ui, sans-serif; text-anchor: middle; fill: var(--page); }
.grid .sign.no_dump { fill: var(--ink); }
.grid .ring { fill: none; stroke-width: 3; pointer-events: none; }
.grid .ring.culprit { stroke: var(--bad); }
.grid .ring.possible { stroke: var(--may); stroke-dasharray: 5 3; }
svg.moments text { font: 12px system-ui, sans-serif; fill: var(--soft); }
svg.moments .name, svg.moments .stop { fill: var(--ink); font-weight: 600; }
svg.moments path { fill: none; }
svg.moments .lane, svg.moments .tick { stroke: var(--line); }
svg.moments .tick { stroke-dasharray: 2 4; }
svg.moments path.stop { stroke: var(--ink); stroke-width: 2; }
svg.moments .end { stroke: var(--soft); stroke-width: 2; stroke-dasharray: 5 4; }
svg.moments .doubt { stroke: var(--arrow); stroke-width: 5; stroke-opacity: .45; }
svg.moments .mark { fill: var(--page); stroke: var(--soft); stroke-width: 2; }
svg.moments .culprit .mark { fill: var(--bad); stroke: var(--page); }
svg.moments .possible .mark { fill: var(--may-soft); stroke: var(--may); }
table.moments tbody th { min-width: 9rem; }
table.moments .stop > *, table.moments .end > * { background: var(--panel); }
#tip { position: sticky; bottom: 0; margin: 0; padding: .4rem 0; background: var(--page); }
meter { width: 4.5rem; height: .9rem; vertical-align: -1px; }
meter::-webkit-meter-bar { background: var(--panel); border: 1px solid var(--line); }
meter::-webkit-meter-optimum-value { background: var(--soft); }
meter::-moz-meter-bar { background: var(--soft); }
@media print { body { max-width: none; } .scroll { overflow: visible; } }
"""

SCRIPT = """
(() => {
  const grid = document.getElementById("grid"), tip = document.getElementById("tip");
  if (!grid || !tip) return;
  const told = JSON.parse(grid.dataset.cells), columns = new Map();
  const runs = told.at.slice();
  let index = 0;
  for (const [left, top, node, ranks] of told.strips) {
    let row = 0;
    for (const span of ranks.split(",")) {
      const [first, last] = span.split("-").map(Number);
      for (let rank = first; rank <= (last ?? first); rank += 1) {
        const x = told.columns ? left + rank % told.columns * told.size : left;
        const y = told.columns ? top : top + row * told.size;
        while (runs[0][1] === 0) runs.shift();
        runs[0][1] -= 1;
        const place = told.places[runs[0][0]];
        const words = [`rank ${rank}`, node, told.names[told.states[index]], place];
        if (!columns.has(x)) columns.set(x, []);
        columns.get(x).push([y, words.filter(Boolean).join(", ")]);
        row += 1;
        index += 1;
      }
    }
  }
  const hint = tip.textContent;
  grid.addEventListener("mousemove", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY)
      .matrixTransform(grid.getScreenCTM().inverse());
    let words = hint;
    for (const [x, cells] of columns) {
      if (at.x < x || at.x >= x + told.size) continue;
      const cell = cells.find(([y]) => at.y >= y && at.y < y + told.size);
      if (cell) words = cell[1];
    }
    tip.textContent = words;
  });
})();
"""


def compute_policy_source(text: str) -> str:
    """The source by which a policy lets just this style sheet or script through."""
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest())
    return f"'sha256-{digest.decode('ascii')}'"


POLICY = (
    f"default-src 'none'; style-src {compute_policy_source(CSS)}; script-src"
    f" {compute_policy_source(SCRIPT)}; "
    "base-uri 'none'; form-action 'none'"
)
"""Content-Security-Policy of the page."""
