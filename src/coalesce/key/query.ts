/**
 * The raw query of a path as parameters: which of them are credentials, and in which order they count. Values are never
 * decoded.
 */

export interface Parameter {
  /** As sent. */
  readonly name: string;
  /** Decoded and in lower case: parameters that some server could take for the same one have the same. */
  readonly folded: string;
  /** As sent; null where there is no `=`. */
  readonly value: string | null;
}

export interface SplitPath {
  /** As sent. */
  readonly path: string;
  /** In order; null where there is no `?`. */
  readonly parameters: readonly Parameter[] | null;
}

/** Parameters that are credentials: they belong to the tenant, and no output may show them. */
const credentialNames: ReadonlySet<string> = new Set(['key', 'api_key', 'access_token']);

/** Parameters by which a URL is itself a signed credential, for one caller. */
const signatureNames: ReadonlySet<string> = new Set(['x-amz-signature', 'x-goog-signature']);

/** `path` is a request's raw path. */
export function splitPath(path: string): SplitPath {
  const mark = path.indexOf('?');
  if (mark === -1) return { path, parameters: null };
  return {
    path: path.slice(0, mark),
    parameters: path
      .slice(mark + 1)
      .split('&')
      .map(readParameter),
  };
}

export function isCredential({ folded }: Parameter): boolean {
  return credentialNames.has(folded);
}

/** Credentials, and what a presigned URL proves itself with: no output may show their values. */
export function isSecret({ folded }: Parameter): boolean {
  return credentialNames.has(folded) || /(?:signature|credential|token|secret|password)$/.test(folded);
}

export function isPresigned({ parameters }: SplitPath): boolean {
  return parameters?.some(({ folded }) => signatureNames.has(folded)) ?? false;
}

/** Sorted by name; those that could be the same parameter keep their order. */
export function sortParameters(parameters: readonly Parameter[]): Parameter[] {
  // Some servers split at semicolons too: then the order is not ours to change.
  if (parameters.some(({ name, value }) => name.includes(';') || value?.includes(';'))) return [...parameters];
  return parameters.toSorted((left, right) => compare(left.folded, right.folded));
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function readParameter(text: string): Parameter {
  const equals = text.indexOf('=');
  const name = equals === -1 ? text : text.slice(0, equals);
  return { name, folded: foldParameterName(name), value: equals === -1 ? null : text.slice(equals + 1) };
}

/** Byte by byte, so that broken escapes stay as they are. */
function foldParameterName(name: string): string {
  const decoded = name
    .replaceAll('+', ' ')
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return decoded.toLowerCase();
}
