/** What a stack says of an error, where those of reset streams are left out. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** In a process of its own, since it is for the whole process; in `script` the module's function is `leaveOut`. */
function printed(script: string): string {
  const module = fileURLToPath(new URL('../../dist/server/grpc/stream-errors.js', import.meta.url));
  const start = `import { leaveOutStacksOfResets as leaveOut } from ${JSON.stringify(module)};`;
  return execFileSync(process.execPath, ['--input-type=module', '--eval', `${start}\n${script}`], { encoding: 'utf8' });
}

test('errors of the language and of Node have the very stack that they had', () => {
  const cases = `
    class Own extends TypeError { name = 'Own'; }
    function fail(make) { try { return make().stack } catch (error) { return error.stack } }
    const told = () => [
      () => new Error('one\\ntwo'), () => new Own('own'), () => new Error(''), () => { null.x },
      () => { Buffer.alloc('x') }, () => new Error('outer', { cause: new Error('inner') }),
      () => { throw Object.assign(new Error('named'), { name: 'Other', code: 'E_OTHER' }) },
    ].map(fail).map((stack) => stack.replaceAll(/:\\d+:\\d+/g, ''));
    const before = told(); leaveOut(); const after = told();
    console.log(JSON.stringify([before, after]));`;
  const [before, after] = JSON.parse(printed(cases)) as [string[], string[]];
  expect(before.every((stack) => stack.includes('\n    at '))).toBe(true);
  expect(after).toEqual(before);
});

test('a reset stream’s says what happened, and not where', () => {
  const script = `leaveOut();
    const error = new Error('Stream closed with error code NGHTTP2_INTERNAL_ERROR');
    error.code = 'ERR_HTTP2_STREAM_ERROR';
    const nameless = Object.create(null); Error.captureStackTrace(nameless);
    console.log(JSON.stringify([error.stack, nameless.stack.split('\\n')[0]]));`;
  expect(JSON.parse(printed(script))).toEqual([
    'Error: Stream closed with error code NGHTTP2_INTERNAL_ERROR',
    '<error>',
  ]);
});
