/** CPU time and memory of single processes, and CPU time of the whole machine, from Linux's /proc; NaN where there is none. */
import { readFile } from 'node:fs/promises';

/** What user space is told is always in hundredths of a second (proc(5): USER_HZ). */
const TICKS_PER_SECOND = 100;

/** CPU seconds that a process has used since its start. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const stat = await readProc(`/proc/${pid}/stat`);
  // The name, in parentheses, may hold anything; utime and stime are the 12th and 13th fields behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** CPU seconds that all processes together have used since the machine's start. */
export async function cpuSecondsOfMachine(): Promise<number> {
  const stat = await readProc('/proc/stat');
  const [user, nice, system, , , irq, softirq] = (stat.split('\n')[0] ?? '').split(/\s+/).slice(1).map(Number);
  return (
    [user, nice, system, irq, softirq].reduce<number>((sum, ticks) => sum + (ticks ?? Number.NaN), 0) / TICKS_PER_SECOND
  );
}

/** Resident memory of a process now, in bytes. */
export async function residentBytesOf(pid: number): Promise<number> {
  const status = await readProc(`/proc/${pid}/status`);
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) * 1024;
}

/** A process with all its children: Varnish does its work in one. */
export async function cpuSecondsOfFamily(pid: number): Promise<number> {
  const children = (await readProc(`/proc/${pid}/task/${pid}/children`)).trim().split(' ').filter(Boolean).map(Number);
  const seconds = await Promise.all([cpuSecondsOf(pid), ...children.map(cpuSecondsOfFamily)]);
  return seconds.reduce((sum, each) => sum + each, 0);
}

function readProc(path: string): Promise<string> {
  return readFile(path, 'latin1').catch(() => '');
}
