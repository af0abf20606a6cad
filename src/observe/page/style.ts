/** How the live page looks: light and dark, wide and narrow. */
export const style: string = String.raw`
:root {
  color-scheme: light dark;
  --ground: #f4f6f9; --card: #ffffff; --line: #e3e8ef; --ink: #121826; --soft: #5b6678;
  --saved: #0a7d5c; --saved-wash: #0a9d7322; --made: #9aa8bc; --bad: #cf2e4c; --bar: #e6f5f0; --shade: 0 1px 2px #10182812, 0 4px 16px #1018280a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0d1118; --card: #151b25; --line: #252e3c; --ink: #e8edf5; --soft: #93a0b4;
    --saved: #2fd3a0; --saved-wash: #2fd3a026; --made: #5f6f87; --bad: #ff6b84; --bar: #17372f; --shade: none;
  }
}
* { box-sizing: border-box; margin: 0; }
body {
  background: var(--ground); color: var(--ink); max-width: 76rem; margin: 0 auto; padding: 1.25rem 1.5rem 2rem;
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums;
}
header { display: flex; align-items: center; gap: .75rem; margin-bottom: 1.1rem; }
h1 { font-size: 1.15rem; letter-spacing: -.01em; }
h1 + small { color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
#state {
  margin-left: auto; display: flex; align-items: center; gap: .5rem; padding: .2rem .75rem; border: 1px solid var(--line);
  border-radius: 99px; background: var(--card); font-size: .85rem; white-space: nowrap;
}
#state::before { content: ""; width: .5rem; height: .5rem; border-radius: 50%; background: var(--made); }
.live #state::before { background: var(--saved); }
.lost #state { color: var(--bad); border-color: currentColor; }
.lost #state::before { background: var(--bad); }
.lost main { opacity: .45; }
main { display: grid; gap: 1rem; grid-template-columns: repeat(12, 1fr); }
section, .tile { background: var(--card); border: 1px solid var(--line); border-radius: .8rem; box-shadow: var(--shade); }
.tiles { grid-column: 1 / -1; display: grid; gap: 1rem; grid-template-columns: repeat(4, 1fr); }
.tile { padding: .9rem 1.1rem; min-width: 0; }
.tile h2, section h2 { font-size: .82rem; font-weight: 600; color: var(--soft); }
.tile > data { display: block; font-size: 2.1rem; line-height: 1.2; font-weight: 650; letter-spacing: -.03em; }
.tile.main > data { color: var(--saved); }
.tile p { color: var(--soft); font-size: .85rem; }
section { padding: 1rem 1.1rem; min-width: 0; }
.wide { grid-column: 1 / -1; }
.third { grid-column: span 4; }
.head { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem 1.1rem; margin-bottom: .6rem; }
.head p { color: var(--soft); font-size: .82rem; }
.key::before { content: ""; display: inline-block; width: .65rem; height: .65rem; border-radius: .15rem; margin-right: .4rem; background: var(--made); }
.key.saved::before { background: var(--saved); }
.chart { position: relative; }
.chart span { position: absolute; left: 0; top: 0; color: var(--soft); font-size: .72rem; background: var(--card); padding-right: .3rem; line-height: 1; }
svg { display: block; width: 100%; }
#gain { height: 96px; } #calls { height: 116px; } .chart + .head { margin-top: 1.1rem; }
.gain-line { fill: none; stroke: var(--saved); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.gain-area { fill: var(--saved-wash); } .base { stroke: var(--line); }
.made { fill: var(--made); } .saved-bar { fill: var(--saved); }
.chart .low { top: auto; bottom: .2rem; } .axis { display: flex; justify-content: space-between; color: var(--soft); font-size: .72rem; margin-top: .25rem; }
table { width: 100%; border-collapse: collapse; table-layout: fixed; }
th { text-align: left; font-size: .76rem; font-weight: 600; color: var(--soft); padding: .25rem .6rem .4rem 0; border-bottom: 1px solid var(--line); }
td { padding: .5rem .6rem .5rem 0; border-bottom: 1px solid var(--line); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
tbody tr:last-child td { border-bottom: 0; }
th.number, td.number { text-align: right; }
td.waiters, th.w-waiters { padding-left: 1.4rem; } td.policy, th.w-policy { padding-left: 1rem; }
td.model { font-weight: 600; }
td.code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .85em; color: var(--soft); }
th.w-model { width: 24%; } th.w-leg { width: 10.5%; } th.w-phase { width: 11%; } th.w-age { width: 8%; } th.w-waiters { width: 20%; } th.w-bytes { width: 9%; }
td.leg { text-overflow: clip; }
.crowd { display: flex; align-items: center; gap: .6rem; }
.crowd i { flex: none; width: calc(var(--n, 0) * .5rem); max-width: 75%; height: .5rem; background: radial-gradient(circle at .2rem 50%, var(--saved) .18rem, transparent .2rem) 0 0 / .5rem 100%; }
.chip { display: inline-block; padding: 0 .5rem; border-radius: 99px; background: var(--ground); border: 1px solid var(--line); font-size: .82rem; }
.none { color: var(--soft); padding: .6rem 0 .2rem; }
.bars { display: grid; gap: .3rem; list-style: none; padding: 0; }
.bars li { position: relative; display: flex; justify-content: space-between; gap: 1rem; padding: .22rem .6rem; border-radius: .4rem; overflow: hidden; isolation: isolate; }
.bars li::before { content: ""; position: absolute; inset: 0 auto 0 0; width: var(--part, 0%); background: var(--bar); z-index: -1; border-radius: inherit; }
footer { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin-top: 1.2rem; color: var(--soft); font-size: .82rem; }
a { color: inherit; }
a:focus-visible { outline: 2px solid var(--saved); outline-offset: 2px; }
@media (max-width: 62rem) { .tiles { grid-template-columns: repeat(2, 1fr); } .third { grid-column: 1 / -1; } }
@media (max-width: 40rem) {
  body { padding: .9rem .8rem 1.5rem; }
  h1 + small { display: none; }
  main, .tiles { gap: .7rem; }
  .tile { padding: .7rem .85rem; } .tile > data { font-size: 1.7rem; }
  thead { display: none; }
  tr { display: grid; grid-template-columns: 1fr auto auto; gap: .15rem .9rem; padding: .6rem 0; border-bottom: 1px solid var(--line); }
  tbody tr:last-child { border-bottom: 0; }
  td { padding: 0; border: 0; min-width: 0; }
  td.waiters, th.w-waiters { padding-left: 1.4rem; } td.policy, th.w-policy { padding-left: 1rem; }
td.model { grid-column: 1; } td.age { grid-column: 2; grid-row: 1; } td.bytes { grid-column: 3; grid-row: 1; }
  td.waiters { grid-column: 1 / -1; grid-row: 2; padding: 0; } td.waiters bdi::after { content: " waiting"; }
  td.leg, td.phase { grid-row: 3; color: var(--soft); } td.leg { grid-column: 1; } td.phase { grid-column: 2 / -1; text-align: right; }
  td.policy, td.code { display: none; }
}
`;
