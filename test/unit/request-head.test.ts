/** How Envoy's view of a request becomes the core's, and what ties a ticket to it. */

import { describe, expect, test } from 'vitest';

import { requestHeadOf } from '../../src/extproc/request-head.ts';
import { ticketBinding } from '../../src/extproc/ticket-binding.ts';
import { requestHeaders, structs, withRoute } from '../support/exchange-samples.ts';
import { sampleHead } from '../support/request-samples.ts';

describe('a head', () => {
  test('has what Envoy sent, and no route where Envoy sent none', () => {
    const { metadata, attribute, ...said } = requestHeadOf(requestHeaders());
    const { metadata: _, attribute: __, ...sent } = sampleHead();
    expect(said).toEqual(sent);
    expect([metadata('any'), attribute('any')]).toEqual([undefined, undefined]);
  });

  test('ends where its message ends the request', () => {
    expect(requestHeadOf(requestHeaders({ endOfStream: true })).bodyFollows).toBe(false);
  });

  test('has route and cluster from the filter’s attributes', () => {
    expect(requestHeadOf(requestHeaders({ attributes: withRoute })).routeName).toBe('llm');
    const attributes = structs({ 'envoy.filters.http.ext_proc': { 'xds.cluster_name': 'c', 'xds.route_name': 7 } });
    expect(requestHeadOf(requestHeaders({ attributes }))).toMatchObject({ clusterName: 'c', routeName: null });
  });

  test('gives the metadata of any namespace', () => {
    const head = requestHeadOf(requestHeaders({ metadata: structs({ jwt: { sub: 'me' } }) }));
    expect([head.metadata('jwt'), head.metadata('other')]).toEqual([{ sub: 'me' }, undefined]);
  });
});

describe('a ticket’s binding', () => {
  const head = sampleHead({ headers: [['x-request-id', 'one']] });

  test('is the same at both filters, whatever other filters add', () => {
    const later = { ...head, headers: [['x-added', '1'], ...head.headers] as const };
    expect(ticketBinding(later, null)).toBe(ticketBinding(head, null));
  });

  test.each([
    ['request id', { headers: [['x-request-id', 'two']] as const }],
    [
      'request ids',
      {
        headers: [
          ['x-request-id', 'one'],
          ['x-request-id', 'two'],
        ] as const,
      },
    ],
    ['method', { method: 'PUT' }],
    ['authority', { authority: 'other' }],
    ['path', { path: '/v1/other' }],
  ])('differs with the %s', (_, changes) => {
    expect(ticketBinding({ ...head, ...changes }, null)).not.toBe(ticketBinding(head, null));
  });

  test('differs with the fleet whose Envoy shows it', () => {
    const [ours, theirs] = ['ours', 'theirs'].map((fleet) => ticketBinding(head, fleet));
    expect(new Set([ours, theirs, ticketBinding(head, null)]).size).toBe(3);
  });

  test('does not run parts together', () => {
    const [one, two] = [
      { authority: 'a","b', path: 'c' },
      { authority: 'a', path: 'b","c' },
    ];
    expect(ticketBinding({ ...head, ...one }, null)).not.toBe(ticketBinding({ ...head, ...two }, null));
  });
});
