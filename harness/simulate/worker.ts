/** A thread of the simulator: flies the batches that it is given, one after the other. */

import { parentPort } from 'node:worker_threads';
import { flyBatch, type Batch } from './batch.ts';

parentPort?.on('message', (batch: Batch) => parentPort?.postMessage(flyBatch(batch)));
