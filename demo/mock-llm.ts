/**
 * The mock LLM by itself, for docker-compose.yml: it listens on every address, at PORT or 8080, and answers at the pace of
 * a real model, so that a burst typed by hand overlaps. What it answers is left to harness/mock-llm.ts.
 */
import process from 'node:process';
import { startMockLlm } from '../harness/mock-llm.ts';

const mock = await startMockLlm({
  host: '0.0.0.0',
  port: Number(process.env['PORT'] ?? 8080),
  script: { delayMs: 1_000, tokens: 40, gapMs: 100 },
  onCall: ({ id, method }) => process.stdout.write(`${JSON.stringify({ call: id, method })}\n`),
});
process.stdout.write(`${JSON.stringify({ listening: mock.port })}\n`);
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => void mock.close().then(() => process.exit(0)));
}
