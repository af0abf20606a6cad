import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Tests on a real Envoy measure what arrives when; two of them at a time already fill a small machine.
    maxWorkers: 2,
    reporters: process.env['CI'] === undefined ? ['default'] : ['default'],
  },
});
