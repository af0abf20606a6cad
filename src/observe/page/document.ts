/**
 * The live page at the admin's `/`, as one self-contained document, and the policy under which a browser shows it: its own
 * script and style by their digests, its own two pages to read, nothing else.
 */
import { createHash } from 'node:crypto';

import { script } from './script.ts';
import { style } from './style.ts';

const tile = (heading: string, main: string, note: string, kind = ''): string => {
  return `<div class="tile${kind}"><h2>${heading}</h2><data id="${main}">–</data><p>${note}</p></div>`;
};
const inline = (id: string): string => `<data id="${id}">0</data>`;
const counts = (id: string, heading: string, empty: string): string => `
<section class="third"><div class="head"><h2>${heading}</h2></div><ul class="bars" id="${id}"></ul><p class="none" id="${id}-none">${empty}</p></section>`;

const body = `
<header><h1>envoy-coalescer</h1><small id="host"></small><span id="state" role="status">connecting</span></header>
<noscript><p>This page needs its script; <a href="flights">flights</a> and <a href="metrics">metrics</a> do not.</p></noscript>
<main>
<div class="tiles">
${tile('Gain since start', 'gain-now', `${inline('logical')} asked for, ${inline('made')} made`, ' main')}
${tile('Calls saved', 'saved', `${inline('hit-rate')}${inline('tokens')}`)}
${tile('Flights now', 'flights-now', `${inline('waiters-now')} callers wait along`)}
${tile('Held in memory', 'replay-bytes', `${inline('streams')} streams, ${inline('queue')} in the queue`)}
</div>
<section class="wide"><div class="head"><h2>Gain over time</h2><p>calls asked for ÷ calls made, over the minute before</p></div>
<div class="chart"><svg id="gain" role="img" aria-label="Gain over time"></svg><span id="gain-most"></span><span class="low">1×</span></div>
<div class="head"><h2>Calls</h2><p class="key saved">saved</p><p class="key">made</p></div>
<div class="chart"><svg id="calls" role="img" aria-label="Calls over time"></svg><span id="calls-most"></span></div>
<div class="axis"><span>4 minutes ago</span><span>now</span></div></section>
<section class="wide"><div class="head"><h2>In flight</h2><p id="more"></p></div>
<table id="flights-table" hidden><thead><tr><th class="w-model">Model</th><th class="w-leg">Leg</th><th class="w-phase">Phase</th><th class="number w-age">Age</th><th class="w-waiters">Waiters</th><th class="number w-bytes">Bytes</th><th class="w-policy">Policy</th><th>Key</th></tr></thead><tbody id="flights"></tbody></table>
<p class="none" id="no-flights">Nothing is in flight.</p></section>
${counts('bypass', 'Left alone, by reason', 'Nothing was bypassed.')}
${counts('shadow', 'Shadow verdicts', 'Shadow mode has said nothing.')}
${counts('endings', 'How flights ended', 'No flight has ended.')}
</main>
<footer><span>No prompt and no answer is ever shown here.</span><a href="flights">/flights</a><a href="metrics">/metrics</a><a href="readyz">/readyz</a><a href="healthz">/healthz</a></footer>
`;

export const livePage: string = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>envoy-coalescer</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>${body}<script>${script}</script>
</body>
</html>
`;

/** Response headers of the page. */
export const livePageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    `script-src ${digest(script)}`,
    `style-src ${digest(style)}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

function digest(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
