import process from 'node:process';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

// Envoy 1.36 cannot stream an immediate response: it has tests of its own, on every caller getting its own right answer.
const isOldEnvoy = process.env['ENVOY_VERSION']?.startsWith('1.36.') ?? false;

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [isOldEnvoy ? 'test/envoy/**' : 'test/envoy-old/**'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Tests on a real Envoy measure what arrives when; two of them at a time already fill a small machine.
    maxWorkers: 2,
  },
});

export default config;
