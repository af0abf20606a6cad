/**
 * The lint rules fire: each ban is broken in a small tree of its own, linted with the repository's configuration. That the
 * real tree obeys them is the gate's affair.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repositoryRoot } from '../../harness/root.ts';

type Violation = {
  readonly fact: string;
  readonly room: string;
  readonly code: string;
  readonly rule: string;
  /** Part of the message, where the rule reports more than one thing. */
  readonly says?: string;
};

const imports = 'no-restricted-imports';
const globals = 'no-restricted-globals';

const pureRooms = ['src/coalesce/flight', 'src/extproc'];

const pureViolations: ReadonlyArray<Omit<Violation, 'room'>> = [
  { fact: 'Date.now is banned', code: 'export const x = Date.now();', rule: globals, says: "'Date'" },
  { fact: 'new Date is banned', code: 'export const x = new Date();', rule: globals, says: "'Date'" },
  ...['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask'].map((name) => ({
    fact: `${name} is banned`,
    code: `${name}(() => undefined, 1);`,
    rule: globals,
    says: `'${name}'`,
  })),
  ...['performance', 'process', 'console', 'fetch', 'crypto', 'globalThis'].map((name) => ({
    fact: `the global ${name} is banned`,
    code: `export const x: unknown = ${name};`,
    rule: globals,
    says: `'${name}'`,
  })),
  { fact: 'Math.random is banned', code: 'export const x = Math.random();', rule: 'no-restricted-properties' },
  {
    fact: 'random bytes are banned',
    code: "import { randomBytes } from 'node:crypto';\nexport const x = randomBytes(1);",
    rule: imports,
    says: "'randomBytes'",
  },
  ...['node:fs', 'fs', 'node:net', 'node:http', 'node:timers', 'node:timers/promises', 'node:process', 'pino'].map(
    (name) => ({
      fact: `importing ${name} is banned`,
      code: `import * as x from '${name}';\nexport const y: unknown = x;`,
      rule: imports,
      says: `'${name}'`,
    }),
  ),
];

const violations: readonly Violation[] = [
  ...pureRooms.flatMap((room) => pureViolations.map((violation) => ({ ...violation, room }))),
  ...importBans('src/coalesce/flight', '../../', [
    'config',
    'extproc',
    'server',
    'upstream',
    'redis',
    'observe',
    'cli',
  ]),
  ...importBans('src/extproc', '../', ['config', 'server', 'upstream', 'redis', 'observe', 'cli']),
  ...importBans('src/config', '../', ['extproc', 'server', 'upstream', 'redis', 'observe', 'cli']),
  ...importBans('src/observe', '../', ['server', 'upstream', 'redis', 'cli']),
  ...importBans('src/upstream', '../', ['server', 'cli']),
  ...importBans('src/redis', '../', ['server', 'cli']),
  ...importBans('src/server', '../', ['cli']),
  ...['src/coalesce', 'src/extproc', 'src/config', 'src/observe', 'src/upstream', 'src/server', 'src/cli'].map(
    (room) => ({
      fact: 'importing main is banned',
      room,
      code: "import x from '../main.ts';\nexport const y: unknown = x;",
      rule: imports,
      says: "'../main.ts'",
    }),
  ),
  ...['src/config', 'src/observe', 'src/upstream', 'src/server', 'src/cli'].flatMap((room) => [
    { fact: 'the global process is banned', room, code: 'export const x = process.pid;', rule: globals },
    {
      fact: 'importing process is banned',
      room,
      code: "import { env } from 'node:process';\nexport const x = env;",
      rule: imports,
      says: "'node:process'",
    },
  ]),
  {
    fact: 'importing the harness is banned',
    room: 'src/server',
    code: "import x from '../../harness/root.ts';\nexport const y: unknown = x;",
    rule: imports,
    says: 'harness',
  },
  { fact: 'any is banned', room: 'src/server', code: 'export const x: any = 1;', rule: 'no-explicit-any' },
  {
    fact: 'a non-null assertion is banned',
    room: 'src/server',
    code: 'export const x = (y: string | undefined): string => y!;',
    rule: 'no-non-null-assertion',
  },
  {
    fact: 'a floating promise is banned',
    room: 'src/server',
    code: 'export const x = async (): Promise<void> => undefined;\nx();',
    rule: 'no-floating-promises',
  },
  {
    fact: 'a switch that misses a member is banned',
    room: 'src/server',
    code: "export function x(y: 'a' | 'b'): number {\n  switch (y) {\n    case 'a':\n      return 1;\n  }\n  return 2;\n}",
    rule: 'switch-exhaustiveness-check',
  },
  { fact: 'an empty catch is banned', room: 'src/server', code: 'try {\n  [].at(0);\n} catch {}', rule: 'no-empty' },
];

function importBans(room: string, up: string, targets: readonly string[]): Violation[] {
  return targets.map((target) => ({
    fact: `importing ${target} is banned`,
    room,
    code: `import x from '${up}${target}/x.ts';\nexport const y: unknown = x;`,
    rule: imports,
    says: `'${up}${target}/x.ts'`,
  }));
}

type Report = {
  readonly diagnostics: ReadonlyArray<{ readonly code: string; readonly message: string; readonly filename: string }>;
  readonly number_of_files: number;
};

const clean = [
  {
    path: 'src/coalesce/flight/clean.ts',
    code: "import { Buffer } from 'node:buffer';\nimport { createHash } from 'node:crypto';\nimport { x } from '../key/clean.ts';\nexport const y: unknown = [Buffer, createHash, x];",
  },
  { path: 'src/coalesce/key/clean.ts', code: 'export const x = Math.floor(1.5);' },
  {
    path: 'src/extproc/clean.ts',
    code: "import { Struct } from 'google-protobuf/google/protobuf/struct_pb.js';\nimport { x } from '../coalesce/key/clean.ts';\nexport const y: unknown = [Struct, x];",
  },
  { path: 'src/main.ts', code: "import process from 'node:process';\nprocess.exitCode = 0;\nconsole.log(Date.now());" },
];

const cycle = [
  { path: 'src/server/cycle/a.ts', code: "import { b } from './b.ts';\nexport const a = (): number => b();" },
  { path: 'src/server/cycle/b.ts', code: "import { a } from './a.ts';\nexport const b = (): number => a();" },
];

let folder = '';
let report: Report = { diagnostics: [], number_of_files: 0 };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'envoy-coalescer-lint-'));
  await cp(join(repositoryRoot, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
  await cp(join(repositoryRoot, 'tsconfig.json'), join(folder, 'tsconfig.json'));
  await symlink(join(repositoryRoot, 'node_modules'), join(folder, 'node_modules'));
  const broken = violations.map(({ room, code }, index) => ({ path: pathOf(room, index), code }));
  for (const { path, code } of [...broken, ...clean, ...cycle]) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), `${code}\n`);
  }
  report = await lint(folder);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the gate', () => {
  test.each(violations.map((violation, index) => ({ ...violation, index })))(
    'in $room $fact',
    ({ room, index, rule, says = '' }) => {
      const found = reportsOn(pathOf(room, index)).map(({ code, message }) => `${code}: ${message}`);
      expect(found).toContainEqual(expect.stringMatching(new RegExp(`${rule}.*${says.replaceAll('.', '\\.')}`)));
    },
  );

  test.each(clean)('$path, which keeps to its room, has nothing reported', ({ path }) => {
    expect(reportsOn(path)).toEqual([]);
  });

  test('a cycle of imports is reported', () => {
    const found = cycle.flatMap(({ path }) => reportsOn(path)).map(({ code }) => code);
    expect(found).toContainEqual(expect.stringContaining('no-cycle'));
  });

  test('every file of the tree was seen', () => {
    expect(report.number_of_files).toBe(violations.length + clean.length + cycle.length);
  });
});

function pathOf(room: string, index: number): string {
  return `${room}/violation-${index}.ts`;
}

function reportsOn(path: string): Report['diagnostics'] {
  return report.diagnostics.filter(({ filename }) => filename.endsWith(path));
}

function lint(cwd: string): Promise<Report> {
  const oxlint = join(repositoryRoot, 'node_modules', '.bin', 'oxlint');
  return new Promise((resolve, reject) => {
    execFile(oxlint, ['--type-aware', '-f', 'json', 'src'], { cwd, maxBuffer: 1 << 26 }, (_error, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout) as Report);
      } catch (cause) {
        reject(new Error(`oxlint left no report: ${stdout.slice(0, 1000)} ${stderr.slice(0, 1000)}`, { cause }));
      }
    });
  });
}
