/** What Bedrock's endpoints have in common: their errors, who asks, and where the model stands. */

import type { Profile } from '../profile.ts';

const bedrockSources: readonly string[] = [
  'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_Operations_Amazon_Bedrock_Runtime.html',
  'npm @aws-sdk/client-bedrock-runtime 3.1164.0, PyPI boto3 1.44.8',
];

/** A header that only filters the log of calls. */
export const requestMetadataHeader = {
  name: 'x-amzn-bedrock-request-metadata',
  why: 'filters the log of calls; no answer depends on it',
} as const;

export const bedrock: Pick<Profile, 'sources' | 'errorShape' | 'method' | 'contentType' | 'model' | 'headers'> = {
  sources: bedrockSources,
  errorShape: 'plain',
  method: 'POST',
  contentType: 'json',
  model: { from: 'path' },
  headers: { counted: [], identity: [requestMetadataHeader] },
};
