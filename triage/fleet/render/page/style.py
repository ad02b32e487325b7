"""The style of a fleet's pictures and tables: what the sheet of a report does not have yet.

Pages serve it as ``fleet.css`` after ``report.css``; the report in one file holds both.
"""

from typing import Final

FLEET_CSS: Final = """
:root { --seen: #0a6f8f; --theirs: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --seen: #5cc9e6; --theirs: #e0a84a; } }
.answers { list-style: none; margin: .4rem 0 1.2rem; padding: 0; display: grid; gap: .55rem; }
.answers li { border-left: 4px solid var(--line); padding: .1rem 0 .1rem .9rem;
  font-size: 1.12rem; line-height: 1.4; text-wrap: pretty; }
.answers li.bad { border-left-color: var(--bad); }
.answers li.may { border-left: 4px dashed var(--may); }
.answers li.good { border-left-color: var(--good); }
.answers .why { display: block; font-size: .88rem; color: var(--soft); }
.picture { margin: .6rem 0; }
.picture figcaption { font-size: .92rem; color: var(--soft); max-width: 44rem; }
.picture figcaption p:first-child { margin-top: 0; }
.picture figcaption b { color: var(--ink); }
@media (min-width: 66rem) { .picture { display: grid; gap: 1.6rem;
  grid-template-columns: max-content minmax(0, 1fr); align-items: start; }
  .picture.wide { display: block; } }
body.fleet { max-width: 72rem; }
.figures { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem;
  margin: 0 0 .6rem; }
.figures dt { color: var(--soft); }
.figures dd { margin: 0; color: var(--ink); }
.numbers { max-height: 24rem; overflow: auto; }
td.count, th.count { text-align: right; font-variant-numeric: tabular-nums; }
.causes th[scope=row] { white-space: nowrap; }
.causes td { white-space: nowrap; }
.causes td.bars { min-width: 15rem; }
svg.chart text { font: 12px system-ui, sans-serif; fill: var(--soft); }
svg.chart text.name, svg.chart text.strong { fill: var(--ink); font-weight: 600; }
svg.chart text.sign { font-weight: 700; font-size: 11px; fill: var(--page); }
svg.chart .halo { paint-order: stroke; stroke: var(--page); stroke-width: 4px; }
svg.chart path { fill: none; }
svg.chart .tick { stroke: var(--line); stroke-width: 1; }
svg.chart .edge { stroke: var(--soft); stroke-width: 1; }
svg.chart .line { stroke: var(--seen); stroke-width: 2; stroke-linejoin: round; }
svg.chart .line.theirs { stroke: var(--theirs); stroke-dasharray: 6 4; }
svg.chart .line.mean { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 2 3; }
svg.chart .area { fill: var(--seen); fill-opacity: .18; }
svg.chart .measured { fill: var(--good); fill-opacity: .12; }
svg.chart .beyond { fill: url(#fleet-hatch); fill-opacity: .75; }
svg.chart .hatched { stroke: var(--line); stroke-width: 1.5; }
svg.chart .hatch-ground { fill: var(--page); }
svg.chart .dot { fill: var(--seen); stroke: var(--page); stroke-width: 1.5; }
svg.chart .dot.none { fill: var(--page); stroke: var(--seen); stroke-width: 2; }
svg.chart .bar { fill: var(--seen); }
svg.chart .bar.theirs { fill: none; stroke: var(--theirs); stroke-width: 1.5; }
svg.chart .whisker { stroke: var(--ink); stroke-width: 1.5; }
svg.chart .interval { stroke: var(--soft); stroke-width: 3; stroke-linecap: round; }
svg.chart .asked { fill: var(--theirs); stroke: var(--page); stroke-width: 1.5; }
svg.chart .fleet { stroke: var(--theirs); stroke-width: 1.5; stroke-dasharray: 2 2; }
svg.chart .lemon { fill: var(--bad); }
svg.chart .watch { fill: var(--may); }
svg.chart .normal { fill: var(--waiting); }
svg.chart .golden { fill: var(--good); }
svg.chart .unknown { fill: var(--idle); }
svg.chart .cross { stroke: var(--page); stroke-width: 2; stroke-linecap: round; }
svg.chart .leaf { stroke: var(--line); stroke-width: 1; fill: var(--panel); }
svg.chart .leaf.accused { stroke: var(--bad); stroke-width: 3; }
svg.chart text.accused { fill: var(--bad); font-weight: 700; }
.keys { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.4rem;
  font-size: .9rem; color: var(--soft); }
.keys svg { display: inline-block; vertical-align: -2px; }
.grade { white-space: nowrap; }
.grade svg { display: inline-block; vertical-align: -2px; margin-right: .35em; }
.grade.lemon { color: var(--bad); font-weight: 600; }
.grade.watch { color: var(--may); font-weight: 600; }
.nodes tbody tr:first-child > * { border-bottom: 0; padding-top: .6rem; }
.nodes .reasons td { padding: 0 0 .7rem 0; font-size: .92rem; }
.nodes .reasons ul { margin-top: 0; }
.nodes .reasons details { margin: 0; }
@media (max-width: 40rem) {
  .nodes, .nodes caption, .nodes tbody, .nodes tr { display: block; }
  .nodes thead { display: none; }
  .nodes tbody { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  .nodes tr > * { display: inline; border: 0; padding: 0 .6rem 0 0; min-width: 0; }
  .nodes td[data-word]::before { content: attr(data-word) " "; color: var(--soft); }
  .nodes td:empty, .nodes td.beside { display: none; }
  .nodes .reasons td, .nodes .reasons ul { display: block; padding-top: .2rem; }
}
.command pre.round { max-height: 22rem; overflow: auto; white-space: pre; }
.groups td.mono { white-space: nowrap; }
.beside { display: flex; flex-wrap: wrap; gap: .6rem 1rem; }
.beside input { max-width: 9rem; }
figcaption th, figcaption td { white-space: nowrap; }
.differs { font-weight: 600; }
"""
