/**
 * The starter of a bench process as that process sees it: it is told once that the process is ready, and answered from then
 * on. The process ends with its starter, however that one ends.
 */
import process from 'node:process';

/** What a bench process sends. */
export type ToParent =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'answer'; readonly answer: unknown }
  | { readonly kind: 'failed'; readonly why: string };

/** Says that the process is ready (0: it listens nowhere), and answers each question. */
export function serveParent<Question>(port: number, answer: (question: Question) => Promise<unknown>): void {
  process.on('disconnect', () => process.exit(0));
  process.on('message', (question: unknown) => {
    answer(question as Question).then(
      (given) => tell({ kind: 'answer', answer: given }),
      (error: unknown) => tell({ kind: 'failed', why: String(error) }),
    );
  });
  tell({ kind: 'ready', port });
}

function tell(message: ToParent): void {
  process.send?.(message);
}
