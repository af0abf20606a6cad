import { expect, test } from 'vitest';

import { drawChart } from '../../bench/report/charts/line-chart.ts';

const chart = { title: 'Title', xTitle: 'callers', yTitle: 'ms', isLog: true } as const;

test('each series has a line through its points, within the picture, and its name', () => {
  const points = [[1, 2], [10, 5], [4000, 900]] as const; // prettier-ignore
  const svg = drawChart({ ...chart, series: [{ name: 'one', points }, { name: 'other', points: points.slice(0, 2) }] }); // prettier-ignore
  const lines = [...svg.matchAll(/<polyline points="([^"]*)"/g)].map(([, text]) => (text ?? '').split(' '));
  expect(lines.map((line) => line.length)).toEqual([3, 2]);
  for (const [x = Number.NaN, y = Number.NaN] of lines.flat().map((point) => point.split(',').map(Number))) {
    expect(x >= 0 && x <= 720 && y >= 0 && y <= 400, `${x},${y}`).toBe(true);
  }
  expect(svg).toContain('>one</text>');
  expect(svg).toContain('>other</text>');
});

test('more is to the right and further up', () => {
  const svg = drawChart({ ...chart, isLog: false, series: [{ name: 'one', points: [[0, 1], [50, 2], [90, 10]] }] }); // prettier-ignore
  const points = (/<polyline points="([^"]*)"/.exec(svg)?.[1] ?? '')
    .split(' ')
    .map((point) => point.split(',').map(Number));
  const [xs, ys] = [points.map(([x]) => x ?? Number.NaN), points.map(([, y]) => y ?? Number.NaN)];
  expect(xs).toEqual(xs.toSorted((one, other) => one - other));
  expect(ys).toEqual(ys.toSorted((one, other) => other - one));
});

test('a series without points is left out, and no value is NaN', () => {
  const svg = drawChart({ ...chart, series: [{ name: 'missing', points: [] }, { name: 'one', points: [[1, 1]] }] }); // prettier-ignore
  expect(svg).not.toContain('missing');
  expect(svg).not.toContain('NaN');
});
