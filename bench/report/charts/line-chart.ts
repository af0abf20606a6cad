/** A line chart as SVG, drawn without a library: a few series over one axis, with their names at the lines' ends. */

export type Series = { readonly name: string; readonly points: ReadonlyArray<readonly [x: number, y: number]> };

export type Chart = {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  /** Logarithmic axes; values must be above 0. */
  readonly isLog: boolean;
  readonly series: readonly Series[];
};

const [WIDTH, HEIGHT] = [720, 400];
const frame = { left: 64, right: WIDTH - 150, top: 40, bottom: HEIGHT - 52 };
const colours = ['#1b6ca8', '#c8553d', '#4a7c59', '#7a5195', '#8a6d3b'];

/** One file's text. */
export function drawChart(chart: Chart): string {
  const drawn = chart.series.filter(({ points }) => points.length > 0);
  const all = drawn.flatMap(({ points }) => points);
  const x = scaleOf(
    all.map(([value]) => value),
    { isLog: chart.isLog, from: frame.left, to: frame.right },
  );
  const y = scaleOf(
    all.map(([, value]) => value),
    { isLog: chart.isLog, from: frame.bottom, to: frame.top },
  );
  const names = spreadOut(drawn.map(({ points }) => y.place(points.at(-1)?.[1] ?? 0)));
  const lines = drawn.map((series, index) => lineOf(series, { x, y, index, nameAt: names[index] ?? 0 }));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" fill="#333">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="${frame.left}" y="22" font-size="15">${chart.title}</text>`,
    ...x.ticks.map(
      (value) => `<text x="${at(x.place(value))}" y="${frame.bottom + 18}" text-anchor="middle">${value}</text>`,
    ),
    ...y.ticks.map((value) => gridLine(y.place(value), value)),
    `<text x="${(frame.left + frame.right) / 2}" y="${HEIGHT - 12}" text-anchor="middle">${chart.xTitle}</text>`,
    `<text transform="translate(16 ${(frame.top + frame.bottom) / 2}) rotate(-90)" text-anchor="middle">${chart.yTitle}</text>`,
    ...lines,
    '</svg>\n',
  ].join('\n');
}

type Scale = { readonly place: (value: number) => number; readonly ticks: readonly number[] };

function scaleOf(values: readonly number[], range: { isLog: boolean; from: number; to: number }): Scale {
  const { isLog, from, to } = range;
  const shape = (value: number): number => (isLog ? Math.log10(value) : value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const low = isLog ? least : Math.min(0, least);
  const high = most === low ? low + 1 : most;
  const place = (value: number): number =>
    from + ((shape(value) - shape(low)) / (shape(high) - shape(low))) * (to - from);
  return { place, ticks: isLog ? logTicks(low, high) : evenTicks(low, high) };
}

function logTicks(low: number, high: number): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const factor of [1, 2, 5]) ticks.push(Number((factor * 10 ** power).toPrecision(1)));
  }
  return ticks.filter((tick) => tick >= low && tick <= high);
}

function evenTicks(low: number, high: number): number[] {
  const rough = (high - low) / 6;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5, 10].find((factor) => factor * unit >= rough) ?? 10);
  const count = Math.floor((high - low) / step + 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => Number((low + index * step).toPrecision(6)));
}

function gridLine(y: number, value: number): string {
  const line = `<line x1="${frame.left}" x2="${frame.right}" y1="${at(y)}" y2="${at(y)}" stroke="#ddd"/>`;
  return `${line}<text x="${frame.left - 8}" y="${at(y + 4)}" text-anchor="end">${value}</text>`;
}

function lineOf({ name, points }: Series, given: { x: Scale; y: Scale; index: number; nameAt: number }): string {
  const { x, y, index, nameAt } = given;
  const colour = colours[index % colours.length] ?? '#333';
  const path = points.map(([one, other]) => `${at(x.place(one))},${at(y.place(other))}`);
  const dots = path
    .map((point) => point.split(','))
    .map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`);
  const label = `<text x="${frame.right + 10}" y="${at(nameAt + 4)}" fill="${colour}">${name}</text>`;
  return `<polyline points="${path.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>${dots.join('')}${label}`;
}

/** Heights for the names, at least a line apart, in the order given. */
function spreadOut(heights: readonly number[]): number[] {
  const spread = [...heights];
  let above = Number.NEGATIVE_INFINITY;
  for (const index of heights
    .map((_, each) => each)
    .toSorted((one, other) => (heights[one] ?? 0) - (heights[other] ?? 0))) {
    above = Math.max(heights[index] ?? 0, above + 15);
    spread[index] = above;
  }
  return spread;
}

function at(value: number): string {
  return value.toFixed(1);
}
