/**
 * Dashboard and alerts: every metric that they name is exported by a real processor or a real Envoy, with the labels and the
 * words that they ask for; every alert is described for operators and has a unit test in which it fires.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chat, send } from '../../harness/http-client.ts';
import { type Stack, startStack } from '../../harness/stack.ts';
import { parseShipped, readShipped } from '../support/deployed.ts';

type Rule = { record?: string; alert?: string; expr: string; annotations?: Record<string, string> };
type Panel = { title: string; type: string; targets?: Array<{ expr: string }>; gridPos: Place };
type Place = { x: number; y: number; w: number; h: number };
type Dashboard = { panels: Panel[]; annotations: { list: Array<{ expr: string }> } };
type RuleTests = { tests: Array<{ alert_rule_test?: Array<{ alertname: string; exp_alerts?: unknown[] }> }> };

const rules = (parseShipped('deploy/prometheus/rules.yaml') as { groups: Array<{ rules: Rule[] }> }).groups.flatMap(
  (group) => group.rules,
);
const dashboard = JSON.parse(readShipped('deploy/grafana/dashboard.json')) as Dashboard;
const queries = dashboard.panels.flatMap(({ targets }) => (targets ?? []).map(({ expr }) => expr));
const expressions = [...rules.map(({ expr }) => expr), ...queries];
const alerts = rules.flatMap(({ alert }) => (alert === undefined ? [] : [alert]));

describe('metric names', () => {
  let stack: Stack | undefined;
  /** Every sample that both export: name to the label sets. */
  const exported = new Map<string, Array<Map<string, string>>>();
  beforeAll(async () => {
    stack = await startStack({ leg: 'detached' });
    // Envoy makes its counters with the first exchange.
    await send({ url: stack.ingress.url, ...chat('hello') });
    for (const url of [`${stack.processor.adminUrl}/metrics`, `${stack.envoy.adminUrl}/stats/prometheus`])
      for (const [name, labels] of samplesOf(await (await fetch(url)).text()))
        exported.set(name, [...(exported.get(name) ?? []), labels]);
  });
  afterAll(() => stack?.close());

  test('there are some to look for', () => expect(new Set(expressions.flatMap(metricsIn)).size).toBeGreaterThan(25));

  test.each([...new Set(expressions.flatMap(metricsIn))])('%s is exported', (name) => {
    expect([...exported.keys()]).toContain(name);
  });

  test('every label that is asked for is there, and every word of it', () => {
    for (const { metric, label, words } of expressions.flatMap(matchersIn)) {
      const values = (exported.get(metric) ?? []).map((labels) => labels.get(label));
      for (const word of words) expect(values, `${metric} ${label}`).toContain(word);
    }
    expect(expressions.flatMap(matchersIn).length).toBeGreaterThan(8);
  });

  test('every recorded name that is used is recorded', () => {
    const recorded = rules.map(({ record }) => record);
    for (const name of expressions.flatMap((text) => text.match(/\bcoalesce:[\w:]+/g) ?? []))
      expect(recorded).toContain(name);
  });
});

describe('alerts', () => {
  const { tests } = parseShipped('deploy/prometheus/rules.test.yaml') as RuleTests;
  const doc = readShipped('docs/operations.md');

  test.each(alerts)('%s fires in a unit test, and operators are told what it means', (alert) => {
    const cases = tests
      .flatMap(({ alert_rule_test }) => alert_rule_test ?? [])
      .filter(({ alertname }) => alertname === alert);
    expect(cases.some(({ exp_alerts }) => (exp_alerts ?? []).length > 0)).toBe(true);
    expect(doc).toContain(`### ${alert}\n`);
    const rule = rules.find((one) => one.alert === alert);
    expect(rule?.annotations?.['runbook']).toBe(`docs/operations.md#${alert.toLowerCase()}`);
  });

  test('nothing else is described as one', () => {
    const described = [...doc.matchAll(/^### (Coalesce\w+)$/gm)].map(([, name]) => name);
    expect(new Set(described)).toEqual(new Set(alerts));
  });
});

describe('the dashboard', () => {
  test('shows what is said that it shows', () => {
    const titles = dashboard.panels.map(({ title }) => title).join('\n');
    for (const part of [
      'Gain',
      'Hit rate',
      'In flight',
      'Late joins',
      'Leader',
      'Follower',
      'endings',
      'Bypass',
      'Memory',
    ])
      expect(titles).toContain(part);
  });

  test('no panel lies on another one', () => {
    const taken = new Set<string>();
    for (const { gridPos, title } of dashboard.panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(taken, title).not.toContain(`${x} ${y}`);
          taken.add(`${x} ${y}`);
        }
      }
    }
  });
});

/** Names of metrics that a program exports, as an expression has them. */
function metricsIn(expression: string): string[] {
  return expression.match(/\b(?:coalesce|envoy|process|nodejs)_\w+\b(?!["=])/g)?.filter((name) => !isLabel(name)) ?? [];
}

function isLabel(name: string): boolean {
  return name === 'envoy_cluster_name';
}

type Matcher = { readonly metric: string; readonly label: string; readonly words: readonly string[] };

/** What an expression asks of labels with fixed words; those that name a deployment are not ours. */
function matchersIn(expression: string): Matcher[] {
  return [...expression.matchAll(/\b((?:coalesce|envoy)_\w+)\{([^}]*)\}/g)].flatMap(([, metric = '', inside = '']) =>
    [...inside.matchAll(/(\w+)=~?"([^"$]+)"/g)].map(([, label = '', value = '']) => ({
      metric,
      label,
      words: value.split('|'),
    })),
  );
}

/** The samples of a page in Prometheus's text format. */
function samplesOf(page: string): Array<readonly [name: string, labels: Map<string, string>]> {
  return page
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = ''] = /^([\w:]+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
      return [name, new Map([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]))];
    });
}
