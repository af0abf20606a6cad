/** How a configuration writes endpoints of the operator's own, and how they are printed again. */
import { z } from 'zod';

import { knownProfiles } from '../../coalesce/profiles/known-profiles.ts';
import { operatorProfile, type ProfileDefinition } from '../../coalesce/profiles/operator-profile.ts';
import { doPathsOverlap } from '../../coalesce/profiles/path-overlap.ts';
import type { ModelPlace, Profile, StreamPlace } from '../../coalesce/profiles/profile.ts';
import type { Finding } from '../mistakes/mistakes.ts';
import { nonEmptyText, oneOf, scalar, shown } from '../values/scalars.ts';

/** An added endpoint as it is written and as it is used. */
export interface AddedProfile {
  readonly definition: ProfileDefinition;
  readonly profile: Profile;
}

const TEMPLATE = /^(?:\*\*)?(?:\/[^/\s?#*{}]*(?:\{model\}[^/\s?#*{}]*)?)+$/;
const NAME = /^[a-z][a-z0-9-]{0,63}$/;

const template: z.ZodType<string> = checked(
  'a path such as /llm/{model}/chat, with ** in front for any prefix and {model} for one part at most',
  (text) => TEMPLATE.test(text) && text.split('{model}').length <= 2 && /[^/{}*]/.test(text.replace('{model}', '')),
);

const profileName: z.ZodType<string> = checked(
  'a name of lower-case letters, digits and hyphens that no known profile has',
  (text) => NAME.test(text) && knownProfiles.every(({ name }) => name !== text),
);

const modelPlace: z.ZodType<ModelPlace> = z.union([
  z.literal('path').transform((): ModelPlace => ({ from: 'path' })),
  z.strictObject({ body: nonEmptyText() }).transform(({ body }): ModelPlace => ({ from: 'body', member: body })),
]);

const streamPlace: z.ZodType<StreamPlace> = z.union([
  z.boolean().transform((streams): StreamPlace => ({ from: 'endpoint', streams })),
  z
    .strictObject({ body: nonEmptyText(), when_absent: z.boolean().default(false) })
    .transform((read): StreamPlace => ({ from: 'body', member: read.body, whenAbsent: read.when_absent })),
]);

/** One entry of `profiles`. */
export const addedProfile: z.ZodType<AddedProfile> = z
  .strictObject({
    name: profileName,
    path: template,
    like: oneOf(knownProfiles.map(({ name }) => name)),
    model: worded(modelPlace, 'path or {body: MEMBER}').nullable().default(null),
    stream: worded(streamPlace, 'true, false or {body: MEMBER, when_absent: false}').nullable().default(null),
  })
  .transform((definition, context): AddedProfile => {
    const like = knownProfiles.find(({ name }) => name === definition.like);
    if (like === undefined) return z.NEVER;
    const profile = operatorProfile(definition, like);
    if ((profile.model.from === 'path') === definition.path.includes('{model}')) return { definition, profile };
    const message = 'names the model in two ways or in none, expected {model} in path exactly where model is path';
    context.addIssue({ code: 'custom', message, path: ['path'] });
    return z.NEVER;
  });

/** Every profile whose paths are also another's: it would depend on their order what a call is. */
export function profileConflicts(added: readonly AddedProfile[]): Finding[] {
  return added.flatMap(({ definition, profile }, index) => {
    const { name } = definition;
    const others = [
      ...knownProfiles.map((known) => ({ name: known.name, method: known.method, paths: templatesOf(known) })),
      ...added
        .slice(0, index)
        .map((other) => ({ ...other.definition, method: other.profile.method, paths: [other.definition.path] })),
    ];
    const findings: Finding[] = [];
    const overlapped = others.find(
      ({ method, paths }) => method === profile.method && paths.some((path) => doPathsOverlap(path, definition.path)),
    );
    if (overlapped !== undefined)
      findings.push(finding(index, 'path', `overlaps: some paths would be both of ${name} and of ${overlapped.name}`));
    if (added.slice(0, index).some((other) => other.definition.name === name))
      findings.push(finding(index, 'name', `${shown(name)} is taken by another profile, expected one of its own`));
    return findings;
  });
}

/** As the configuration writes it. */
export function renderProfile({ definition }: AddedProfile): Record<string, unknown> {
  const { name, path, like, model, stream } = definition;
  return {
    ...{ name, path, like },
    ...(model === null ? {} : { model: model.from === 'path' ? 'path' : { body: model.member } }),
    ...(stream === null ? {} : { stream: renderStream(stream) }),
  };
}

function renderStream(stream: StreamPlace): unknown {
  return stream.from === 'endpoint' ? stream.streams : { body: stream.member, when_absent: stream.whenAbsent };
}

function templatesOf({ paths }: Profile): string[] {
  return paths.map(({ template: path }) => path);
}

function finding(index: number, key: string, message: string): Finding {
  return { path: ['profiles', index, key], message, onKey: false };
}

function checked(allowed: string, isAllowed: (text: string) => boolean): z.ZodType<string> {
  const read = (value: unknown): string | null => (typeof value === 'string' && isAllowed(value) ? value : null);
  return scalar(allowed, read, { type: 'string', minLength: 1 });
}

/** A union whose mistakes are told as one. */
function worded<Value extends object>(type: z.ZodType<Value>, allowed: string): z.ZodType<Value> {
  const { anyOf } = z.toJSONSchema(type, { io: 'input' });
  return scalar(allowed, (value) => type.safeParse(value).data ?? null, { anyOf });
}
