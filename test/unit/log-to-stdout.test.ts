/** What stdout gets of the log where it cannot be written for a while, and where the process ends. Each in a process of its own. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** Runs a script that has the log as `log` and Node's fs as `fs`; returns what it wrote to both outputs. */
function run(script: string): { lines: string[]; stderr: string } {
  const module = fileURLToPath(new URL('../../dist/observe/log.js', import.meta.url));
  const start = `import { createRequire } from 'node:module';
    const fs = createRequire(${JSON.stringify(module)})('node:fs');
    const { createLog } = await import(${JSON.stringify(module)});
    const log = createLog('info');
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', `${start}\n${script}`], {
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  });
  return { lines: stdout.split('\n').filter((line) => line !== ''), stderr };
}

test('a full disk costs the lines that do not fit meanwhile; once there is room again they are written', () => {
  const { lines, stderr } = run(`
    const write = fs.write;
    let full = true;
    fs.write = (fd, bytes, ...rest) => {
      if (!full) return write(fd, bytes, ...rest);
      setImmediate(() => rest.at(-1)(Object.assign(new Error('no space left'), { code: 'ENOSPC' })));
    };
    for (let count = 0; count < 60_000; count += 1) {
      log.egressUp('x'.repeat(150));
      if (count % 1_000 === 0) await pause(1);
    }
    full = false;
    for (let count = 0; count < 300; count += 1) {
      log.egressUp('later' + 'x'.repeat(400));
      if (count % 10 === 0) await pause(5);
    }
    await log.flush();
    process.exit(0);`);
  expect(stderr).toBe('');
  expect(lines.length).toBeGreaterThan(30_000);
  expect(lines.filter((line) => line.includes('later')).length).toBeGreaterThan(200);
});

test('what is logged while the end is awaited is written too, once it is handed over', () => {
  const { lines } = run(`
    log.egressUp('first'); log.egressUp('second');
    const flushed = log.flush();
    log.egressUp('late'); log.egressUp('later');
    await flushed;
    log.egressUp('last');
    void log.flush();
    process.exit(0);`);
  expect(lines.map((line) => JSON.parse(line).egress)).toEqual(['first', 'second', 'late', 'later', 'last']);
});
