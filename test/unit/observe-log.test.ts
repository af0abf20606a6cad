import { describe, expect, it } from 'vitest';

import { createLog } from '../../src/observe/log.ts';
import type { ExchangeEnd, FlightEnd, Log } from '../../src/observe/log.ts';

const key = '0123456789abcdef'.repeat(4);

const exchange: ExchangeEnd = {
  id: 'e1',
  requestId: 'r'.repeat(80),
  filter: 'deliver',
  outcome: 'follower',
  reason: null,
  role: 'follower',
  flight: 'f1',
  would: null,
  wouldFlight: null,
  key8: key,
  tenant: 'fedcba9876543210'.repeat(4),
  bodyDiffers: true,
  policy: 'default',
  status: 200,
  promptTokens: 12,
  completionTokens: 3,
  bytes: 10,
  durationMs: 5,
  waitedMs: 2,
  ending: 'whole',
};

const flight: FlightEnd = {
  flight: 'f1',
  key8: key,
  leg: 'attached',
  fleet: 'apart',
  fleetFlight: null,
  ending: 'landed',
  status: 200,
  promptTokens: 12,
  completionTokens: null,
  bytes: 10,
  followers: 3,
  promotions: 0,
  attempts: 1,
  queuedMs: 0,
  firstByteMs: 1,
  durationMs: 5,
};

function logged(level: Parameters<typeof createLog>[0], use: (log: Log) => void): Record<string, unknown>[] {
  const lines: string[] = [];
  use(createLog(level, { write: (line) => lines.push(line) }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('the log', () => {
  it('has one line per exchange, with its outcome and its ending', () => {
    const [line] = logged('info', (log) => log.exchangeEnded(exchange));
    expect(line).toMatchObject({ level: 'info', event: 'exchange_ended', outcome: 'follower', ending: 'whole' });
    expect(line?.['requestId']).toBe('r'.repeat(64));
    expect(line?.['time']).toMatch(/^\d{4}-\d\d-\d\dT/);
  });

  it('says what an answer cost under the names that the dynamic metadata has', () => {
    const lines = logged('info', (log) => {
      log.exchangeEnded(exchange);
      log.flightEnded(flight);
    });
    expect(lines).toMatchObject([
      { prompt_tokens: 12, completion_tokens: 3 },
      { prompt_tokens: 12, completion_tokens: null },
    ]);
  });

  it('never holds a whole key, whatever it is given', () => {
    const lines = logged('trace', (log) => {
      log.exchangeEnded(exchange);
      log.flightEnded(flight);
    });
    expect(lines.map((line) => line['key8'])).toEqual(['01234567', '01234567']);
    expect(JSON.stringify(lines)).not.toContain(key);
  });

  it('says of a follower what an inquiry needs: flight, key, tenant, policy, and whether its body differed', () => {
    const [line] = logged('info', (log) => log.exchangeEnded(exchange));
    expect(line).toMatchObject({ flight: 'f1', key8: '01234567', policy: 'default', bodyDiffers: true });
    expect(line?.['tenant']).toBe('fedcba9876543210');
  });

  it('never holds what else an object carries', () => {
    const lines = logged('trace', (log) => {
      log.exchangeEnded(Object.assign({ prompt: 'confidential' }, exchange));
      log.flightEnded(Object.assign({ authorization: 'confidential' }, flight));
    });
    expect(JSON.stringify(lines)).not.toContain('confidential');
  });

  it('says where the process listens', () => {
    const facts = {
      pid: 7,
      listen: ['127.0.0.1:1', 'unix:/c.sock'],
      admin: '127.0.0.1:2',
      probes: null,
      leg: 'attached',
    } as const;
    expect(logged('info', (log) => log.listening(facts))).toMatchObject([{ event: 'listening', ...facts }]);
  });

  it('has error level only where a person should act', () => {
    const lines = logged('error', (log) => {
      log.exchangeEnded(exchange);
      log.policyRefused('careful', 'no policy of that name');
      log.streamMalformed('decide', 'a body before the head');
      log.drainStarted(1, 1000);
      log.internalError(new Error('an invariant'));
      log.egressDown('http://127.0.0.1:1', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
      log.cannotListen('127.0.0.1:1', new Error('taken'));
      log.configurationRefused(['c.yaml:1: mode: wrong']);
    });
    expect(lines.map((line) => line['event'])).toEqual([
      'internal_error',
      'egress_down',
      'cannot_listen',
      'configuration_refused',
    ]);
    expect(lines[1]).toMatchObject({ error: 'refused', code: 'ECONNREFUSED' });
    expect(lines[0]?.['stack']).toContain('an invariant');
  });

  it('at level silent says nothing', () => {
    expect(logged('silent', (log) => log.internalError(new Error('x')))).toEqual([]);
  });

  it('ends a flush where the destination cannot be flushed', async () => {
    await createLog('info', { write: () => undefined }).flush();
  });
});
