/**
 * What the live page does: reads /flights and /metrics once a second while somebody looks, and draws what they say. All
 * text goes in as text, never as markup: a model's name is what a caller wrote.
 */
export const script: string = String.raw`
'use strict';
const everyMs = 1000, limitMs = 5000, windowMs = 240000, barMs = 2000, gainMs = 60000, mostRows = 100;
const history = [];
const byId = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/* Control characters and those that turn the direction of text would let a name pretend to be something else. */
const readable = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
  (one) => '\\u' + one.charCodeAt(0).toString(16).padStart(4, '0'));
const bytes = (count) => {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let step = 0;
  while (count >= 1024 && step < units.length - 1) { count /= 1024; step += 1; }
  return (step === 0 ? whole.format(count) : count.toFixed(1)) + ' ' + units[step];
};
const age = (ms) => ms < 60000 ? (ms / 1000).toFixed(1) + ' s' : Math.floor(ms / 60000) + ' min ' + Math.floor(ms / 1000) % 60 + ' s';
const times = (gain) => gain === null ? '–' : gain.toFixed(gain < 10 ? 2 : 1) + '×';
const ratio = (logical, made) => made > 0 ? logical / made : null;

/* name → value of a plain sample, or name → label value → value. */
function parseMetrics(text) {
  const plain = new Map(), labelled = new Map();
  for (const line of text.split('\n')) {
    const match = /^(coalesce_\w+)(?:\{\w+="([^"]*)"\})? (\S+)$/.exec(line);
    if (match === null) continue;
    const [, name, label, value] = match;
    if (label === undefined) plain.set(name, Number(value));
    else if (labelled.has(name)) labelled.get(name).set(label, Number(value));
    else labelled.set(name, new Map([[label, Number(value)]]));
  }
  return { of: (name) => plain.get(name) ?? 0, all: (name) => labelled.get(name) ?? new Map() };
}

function show(id, value, text) {
  const element = byId(id);
  element.value = value === null ? '' : String(value);
  element.textContent = text;
}

function drawTiles(metrics) {
  const hits = metrics.of('coalesce_hits_total'), misses = metrics.of('coalesce_misses_total');
  const replayed = metrics.of('coalesce_negative_hits_total'), made = metrics.of('coalesce_upstream_calls_total');
  const logical = hits + misses + replayed;
  const gain = ratio(logical, made);
  show('gain-now', gain, times(gain));
  show('logical', logical, whole.format(logical));
  show('made', made, whole.format(made));
  show('saved', hits, short.format(hits));
  show('hit-rate', hits, logical === 0 ? 'nothing asked yet' : (100 * (hits + replayed) / logical).toFixed(1) + ' % joined a flight');
  const tokens = [...metrics.all('coalesce_tokens_saved_total').values()].reduce((sum, one) => sum + one, 0);
  show('tokens', tokens, tokens === 0 ? '' : ' · ' + short.format(tokens) + ' tokens saved');
  history.push({ at: Date.now(), logical, made });
  while (history.length > 2 && history[1].at < Date.now() - windowMs - gainMs) history.shift();
}

function drawTotals({ flights, waiters, replay_bytes, queue, streams }) {
  show('flights-now', flights, whole.format(flights));
  show('waiters-now', waiters, whole.format(waiters));
  show('replay-bytes', replay_bytes, bytes(replay_bytes));
  show('queue', queue, whole.format(queue));
  show('streams', streams, whole.format(streams));
}

const cells = [
  ['model', (one) => one.model === null ? '–' : readable(one.model)],
  ['leg', (one) => one.leg],
  ['phase', (one) => one.phase],
  ['age number', (one) => age(one.age_ms)],
  ['waiters', (one) => String(one.waiters)],
  ['bytes number', (one) => bytes(one.bytes)],
  ['policy', (one) => readable(one.policy)],
  ['code', (one) => one.key8],
];

function newRow(flight) {
  const row = document.createElement('tr');
  row.dataset.id = flight.id;
  for (const [name] of cells) {
    const cell = row.insertCell();
    cell.className = name;
    const text = document.createElement('bdi');
    if (name === 'leg') text.className = 'chip';
    if (name === 'waiters') {
      const crowd = document.createElement('span');
      crowd.className = 'crowd';
      crowd.append(text, document.createElement('i'));
      cell.append(crowd);
    } else cell.append(text);
  }
  return row;
}

function drawFlights(flights) {
  const body = byId('flights');
  const rows = new Map([...body.rows].map((row) => [row.dataset.id, row]));
  const shown = flights.sort((a, b) => b.age_ms - a.age_ms).slice(0, mostRows);
  body.replaceChildren(...shown.map((flight) => {
    const row = rows.get(flight.id) ?? newRow(flight);
    cells.forEach(([name, read], index) => {
      const cell = row.cells[index], text = read(flight);
      cell.querySelector('bdi').textContent = text;
      cell.title = text;
      if (name === 'waiters') cell.querySelector('i').style.setProperty('--n', String(Math.min(flight.waiters, 15)));
    });
    return row;
  }));
  byId('no-flights').hidden = flights.length > 0;
  byId('flights-table').hidden = flights.length === 0;
  byId('more').textContent = flights.length > mostRows ? 'the oldest ' + mostRows + ' of ' + whole.format(flights.length) : '';
}

function drawBars(id, counts) {
  const entries = [...counts].filter(([, count]) => count > 0).sort((a, b) => b[1] - a[1]);
  const most = Math.max(...entries.map(([, count]) => count));
  byId(id).replaceChildren(...entries.map(([word, count]) => {
    const item = document.createElement('li');
    const name = document.createElement('span');
    const value = document.createElement('data');
    name.textContent = word.replaceAll('_', ' ');
    value.value = String(count);
    value.textContent = whole.format(count);
    item.dataset.word = word;
    item.style.setProperty('--part', (100 * count / most).toFixed(1) + '%');
    item.append(name, value);
    return item;
  }));
  byId(id + '-none').hidden = entries.length > 0;
}

/* The counters as they were at a time: the last sample before it. */
const counted = (at) => history.findLast((sample) => sample.at <= at) ?? history[0];
const between = (from, to) => {
  const [first, last] = [counted(from), counted(to)];
  /* A restart of the processor begins again at 0. */
  return { logical: Math.max(0, last.logical - first.logical), made: Math.max(0, last.made - first.made) };
};

function shape(name, attributes) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

function drawChart() {
  const now = Math.floor(Date.now() / barMs) * barMs + barMs;
  const steps = Array.from({ length: windowMs / barMs }, (_, index) => now - windowMs + index * barMs);
  drawCalls(steps);
  drawGain(steps);
}

function drawCalls(steps) {
  const svg = byId('calls'), { clientWidth: width, clientHeight: height } = svg;
  const bars = steps.map((from) => between(from, from + barMs));
  const most = Math.max(1, ...bars.map(({ logical, made }) => Math.max(logical, made)));
  const step = width / steps.length, scale = (height - 14) / most;
  const bar = (name, index, from, to) => shape('rect', {
    class: name, x: (index * step).toFixed(2), width: Math.max(1, step - 1.5).toFixed(2),
    y: (height - to * scale).toFixed(2), height: ((to - from) * scale).toFixed(2), rx: 1 });
  const drawn = bars.flatMap(({ logical, made }, index) => [
    ...(made > 0 ? [bar('made', index, 0, made)] : []),
    ...(logical > made ? [bar('saved-bar', index, made, logical)] : []),
  ]);
  svg.replaceChildren(shape('line', { class: 'base', x1: 0, x2: width, y1: height, y2: height }), ...drawn);
  byId('calls-most').textContent = whole.format(most) + ' calls in ' + barMs / 1000 + ' s';
}

function drawGain(steps) {
  const svg = byId('gain'), { clientWidth: width, clientHeight: height } = svg;
  const gains = steps.map((from) => {
    const { logical, made } = between(from + barMs - gainMs, from + barMs);
    return from + barMs < history[0].at ? null : ratio(logical, made);
  });
  const most = Math.max(2, ...gains.map((gain) => gain ?? 0));
  const step = width / (steps.length - 1), foot = height - 2;
  const y = (gain) => (foot - (foot - 16) * Math.max(0, gain - 1) / (most - 1)).toFixed(2);
  const points = gains.map((gain, index) => gain === null ? null : [(index * step).toFixed(2), y(gain)]);
  const runs = points.reduce((all, point) => {
    if (point === null) all.push([]); else all.at(-1).push(point);
    return all;
  }, [[]]).filter((run) => run.length > 0);
  svg.replaceChildren(
    shape('line', { class: 'base', x1: 0, x2: width, y1: foot, y2: foot }),
    ...runs.map((run) => shape('path', { class: 'gain-area', d: 'M' + run[0][0] + ',' + foot + 'L' + run.join('L') + 'L' + run.at(-1)[0] + ',' + foot + 'Z' })),
    ...runs.map((run) => shape('path', { class: 'gain-line', d: 'M' + run.join('L') + (run.length === 1 ? 'h.1' : '') })),
  );
  byId('gain-most').textContent = times(most);
}

async function read(path) {
  const response = await fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(limitMs) });
  if (!response.ok) throw new Error(path + ' answered ' + response.status);
  return response;
}

let lastAt = null;
function setState(name, text) {
  document.body.className = name;
  byId('state').textContent = text;
}

async function refresh() {
  try {
    const [page, text] = await Promise.all([read('flights').then((one) => one.json()), read('metrics').then((one) => one.text())]);
    const metrics = parseMetrics(text);
    drawTiles(metrics);
    drawTotals(page.totals);
    drawFlights(page.flights);
    drawBars('bypass', metrics.all('coalesce_bypass_total'));
    drawBars('shadow', metrics.all('coalesce_shadow_total'));
    drawBars('endings', metrics.all('coalesce_flight_endings_total'));
    drawChart();
    lastAt = new Date();
    setState('live', 'live');
  } catch (error) {
    setState('lost', lastAt === null ? 'no answer' : 'no answer since ' + lastAt.toLocaleTimeString());
  }
}

async function run() {
  if (document.visibilityState === 'visible') await refresh();
  setTimeout(run, everyMs);
}
document.addEventListener('visibilitychange', () => { if (document.visibilityState === 'visible') void refresh(); });
byId('host').textContent = location.host;
void run();
`;
