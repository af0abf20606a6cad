/** What to try against a stack that is left running. */
import type { Stack } from '../harness/stack.ts';

/** Lines to print: curl commands to paste, and where to look. */
export function tryByHand(stack: Stack): string {
  const body = (more: object): string =>
    JSON.stringify({
      model: 'm',
      temperature: 0,
      stream: true,
      ...more,
      messages: [{ role: 'user', content: 'hello' }],
    });
  const url = stack.ingress.url;
  const json = "-H 'content-type: application/json'";
  return [
    'Everything is left running. Paste one of these in two terminals, the second within 8 s of the first:',
    '',
    `  curl -iN ${url}/v1/chat/completions ${json} -H 'authorization: Bearer me' -d '${body({})}'`,
    '',
    `  curl -iN ${url}/v1/messages ${json} -H 'x-api-key: me' -H 'anthropic-version: 2023-06-01' -d '${body({ max_tokens: 200 })}'`,
    '',
    'And meanwhile look at',
    '',
    `  curl ${stack.processor.adminUrl}/flights`,
    `  curl ${stack.processor.adminUrl}/metrics`,
    `  curl "${stack.envoy.adminUrl}/stats?filter=ext_proc"`,
    '',
    `The mock LLM itself listens at ${stack.mock.url}. Ctrl-C ends it all.`,
  ].join('\n');
}
