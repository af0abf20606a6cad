/** What the figures were measured on. */
import { availableParallelism, cpus, totalmem } from 'node:os';
import process from 'node:process';

export type Machine = {
  readonly cores: number;
  readonly cpuModel: string;
  readonly memoryGiB: number;
  readonly platform: string;
  readonly nodeVersion: string;
  readonly envoyVersion: string;
};

/** This machine. */
export function describeMachine(envoyVersion: string): Machine {
  return {
    cores: availableParallelism(),
    cpuModel: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGiB: totalmem() / 2 ** 30,
    platform: `${process.platform} ${process.arch}`,
    nodeVersion: process.version,
    envoyVersion,
  };
}
