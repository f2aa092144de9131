import type { NamedChange } from "@edge-op/shared/objects/token-revocation-store";

/** An isolate that lags further reads D1. */
const rememberedChanges = 500;

/**
 * **The newest administrative changes**, which responses of a shard carry so that isolates need not read D1. Consecutive versions,
 * the last of them the control version; empty when they are not known. Pure.
 */
export type RecentChanges = readonly NamedChange[];

/** The longest run of consecutive versions that ends with `cv`. A number that is missing is a gap (ADR 11): nothing before it counts. */
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

/** Every change after `since` up to `cv`; `undefined` if one of them is not known. */
export function changesAfter(since: number, known: RecentChanges, cv: number): RecentChanges | undefined {
  if (since >= cv) return [];
  const first = known[0];
  if (first === undefined || since < 0 || first.version > since + 1) return undefined;
  return known.slice(since + 1 - first.version);
}
