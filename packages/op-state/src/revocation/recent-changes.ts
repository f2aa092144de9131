import { type NamedChange, noVersion } from "@edge-op/shared/leases/revocation-shard-rpc";

/** An isolate that lacks more changes than this reads D1. */
export const rememberedChanges = 500;

/**
 * **The newest administrative changes**, included in the responses of a shard so that isolates do not read D1. Versions are
 * consecutive and end with the control version; the list is empty if the changes are not known. Pure.
 */
export type RecentChanges = readonly NamedChange[];

/** The longest run of consecutive versions that ends with `cv`. A missing version is a gap (ADR 11): the run starts after it. */
export function continueChanges(known: RecentChanges, added: readonly NamedChange[], cv: number): RecentChanges {
  const byVersion = new Map([...known, ...added].map((change) => [change.version, change]));
  const run: NamedChange[] = [];
  for (let version = cv; run.length < rememberedChanges; version -= 1) {
    const change = byVersion.get(version);
    if (change === undefined) break;
    run.push(change);
  }
  return run.reverse();
}

/** Every change after `since` up to `cv`, or every known one after `noVersion`; `undefined` if one of them is not known. */
export function changesAfter(since: number, known: RecentChanges, cv: number): RecentChanges | undefined {
  if (since >= cv) return [];
  if (since === noVersion && known.length > 0) return known;
  const first = known[0];
  if (first === undefined || since < 0 || first.version > since + 1) return undefined;
  return known.slice(since + 1 - first.version);
}
