/** The table at a run's end. */
import type { Target } from './outages.ts';
import type { Outcome } from './trial.ts';

type Column = readonly [head: string, value: (outcome: Outcome) => number];

const targets: readonly Target[] = ['processor', 'egress', 'Envoy', 'Redis'];

const columns: readonly Column[] = [
  ['requests', ({ requests }) => requests],
  ['upstream calls', ({ upstreamCalls }) => upstreamCalls],
  ['complete', ({ verdicts }) => verdicts.complete],
  ['refused by the upstream', ({ verdicts }) => verdicts.refused],
  ['hung up by the client', ({ verdicts }) => verdicts.left],
  ['cut, excused', ({ verdicts }) => verdicts.cut],
  ['unreachable, excused', ({ verdicts }) => verdicts.unreachable],
  ...targets.flatMap((target): Column[] => [
    [`${target} killed`, ({ outages }) => outages.count(target, 'kill')],
    [`${target} stopped`, ({ outages }) => outages.count(target, 'stop')],
  ]),
  ['processor drained', ({ outages }) => outages.count('processor', 'drain')],
  ['processor reloaded', ({ outages }) => outages.count('processor', 'reload')],
  ['wrong', ({ verdicts }) => verdicts.wrong],
  ['hung', ({ verdicts }) => verdicts.hung],
  ['failed that would have succeeded without us', ({ verdicts }) => verdicts.failed],
  ['not as it should be after the storm', ({ remains }) => remains],
];

/** Lines to print: a row for each count, a column for each leg. */
export function tableOf(outcomes: readonly Outcome[]): string[] {
  const legs = [...new Set(outcomes.map(({ leg }) => leg))];
  const rows = columns.map(([head, value]) => [
    head,
    ...legs.map((leg) =>
      String(outcomes.filter((outcome) => outcome.leg === leg).reduce((sum, outcome) => sum + value(outcome), 0)),
    ),
  ]);
  const width = Math.max(...rows.map(([head]) => head?.length ?? 0));
  return [['', ...legs], ...rows].map(([head = '', ...cells]) =>
    [head.padEnd(width), ...cells.map((cell) => cell.padStart(10))].join('  '),
  );
}
