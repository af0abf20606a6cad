/**
 * The bench's upstream: the mock LLM in a process of its own, so that its CPU is nobody else's. Asked anything, it says how
 * many calls came since it was last asked, and forgets them.
 */
import { startMockLlm } from '../harness/mock-llm.ts';
import { serveParent } from './process/parent.ts';

const mock = await startMockLlm();

serveParent<object>(mock.port, () => {
  const count = mock.callCount();
  mock.calls.length = 0;
  return Promise.resolve(count);
});
