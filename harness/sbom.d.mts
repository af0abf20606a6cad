/** Of sbom.mjs. */
type Sbom = { readonly components: readonly object[]; readonly dependencies?: readonly object[] };
type Lock = { readonly packages: Readonly<Record<string, object>> };

export function writeSbom(): boolean;
export function faultsIn(sbom: Sbom, lock: Lock): string[];
export function shippedPart(sbom: Sbom, lock: Lock): Sbom;
