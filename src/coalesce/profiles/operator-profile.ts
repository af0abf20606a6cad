/** Endpoints that an operator adds: a known kind of endpoint, at another path. */

import { createHash } from 'node:crypto';

import { joinNames, knownNames } from './known-names.ts';
import { pathPatterns } from './path-pattern.ts';
import type { ModelPlace, Profile, StreamPlace } from './profile.ts';

export interface ProfileDefinition {
  readonly name: string;
  /** A template, as in `path-pattern.ts`. */
  readonly path: string;
  /** The name of the known profile that it is like. */
  readonly like: string;
  /** Null: as the profile that it is like. */
  readonly model: ModelPlace | null;
  readonly stream: StreamPlace | null;
}

/** The profile of a definition. Its name tells its content too, because it is part of every key. */
export function operatorProfile(definition: ProfileDefinition, like: Profile): Profile {
  const { name, path, model, stream } = definition;
  const content = JSON.stringify([path, like.name, model, stream]);
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 8);
  const members = [model, stream].flatMap((place) => (place?.from === 'body' ? [place.member] : []));
  return {
    ...like,
    name: `${name}#${digest}`,
    paths: pathPatterns(path),
    model: model ?? like.model,
    stream: stream ?? like.stream,
    rootNames: members.length === 0 ? like.rootNames : joinNames(like.rootNames, knownNames(...members)),
  };
}
