/**
 * The table at the end of the burst: for each prompt, what its leader and its followers saw.
 */
import { type Answered, type Role, roleOf, textOf } from './answers.ts';

const roles: readonly Role[] = ['leader', 'follower', 'alone'];
const heads = ['prompt', 'api', 'role', 'callers', 'first byte', 'total', 'answer'];

/** Lines to print. Times are from a caller's request to its answer's first and last byte; of several, from–to. */
export function burstTable(answers: readonly Answered[]): string[] {
  const prompts = [...new Set(answers.map(({ prompt }) => prompt))];
  const rows = prompts.flatMap((prompt) => {
    const own = answers.filter((answer) => answer.prompt === prompt);
    return roles.flatMap((role) => {
      const some = own.filter(({ exchange }) => roleOf(exchange) === role);
      return some.length === 0 ? [] : [rowOf(some, role)];
    });
  });
  return align([heads, ...rows]);
}

function rowOf(answers: readonly Answered[], role: Role): string[] {
  const [first] = answers;
  const exchanges = answers.map(({ exchange }) => exchange);
  const since = (pick: (exchange: Answered['exchange']) => number | undefined): string =>
    range(exchanges.map((exchange) => (pick(exchange) ?? NaN) - exchange.startedAtMs));
  return [
    first?.prompt.text ?? '',
    first?.prompt.api ?? '',
    role,
    String(answers.length),
    since(({ chunks }) => chunks[0]?.atMs),
    since(({ endedAtMs }) => endedAtMs),
    [...new Set(exchanges.map(({ body }) => `${textOf(body).slice(0, 12)}…`))].join(' '),
  ];
}

function range(valuesMs: readonly number[]): string {
  const seconds = (ms: number): string => (ms / 1000).toFixed(2);
  const [least, most] = [seconds(Math.min(...valuesMs)), seconds(Math.max(...valuesMs))];
  return least === most ? `${least} s` : `${least}–${most} s`;
}

function align(rows: readonly string[][]): string[] {
  const widths = heads.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
