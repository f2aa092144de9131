import type { RevocationFilter } from "@edge-op/shared/leases/revocation-shard-rpc";
import { randomHashKey } from "@edge-op/shared/leases/row-filter";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { buildRowFilter, FilterKeys } from "./build-row-filter.ts";
import { randomSeed } from "./revoked-set.ts";

/** Rows that one query reads: a few milliseconds. */
const pageRows = 2_000;
/** A build that has done nothing for this long belongs to an object that was evicted. */
const lostAfterMs = 10_000;

/** Objects share the memory of an isolate, and a build needs 40 MB for a million rows, so only one runs at a time. */
let busyUntilMs = Number.NEGATIVE_INFINITY;

/** The rows of a shard in the order of their keys. */
export interface RowPages {
  page(afterKey: string, limit: number): readonly { readonly key: string; readonly untilMs: number }[];
}

/**
 * **Builds a filter of the rows in storage**, in slices of a few milliseconds; requests are handled between them. It may or may not contain rows that
 * are written meanwhile; it contains everything up to `seq`, the number at its beginning. Returns `undefined` if another object of this isolate is
 * building; try again later.
 */
export async function buildFilter(
  pages: RowPages,
  seq: number,
): Promise<{ readonly filter: RevocationFilter; readonly rows: number } | undefined> {
  const waitMs = busyUntilMs - nowMs();
  // A longer wait means that a clock was set back.
  if (waitMs > 0 && waitMs <= lostAfterMs) return undefined;
  const pause = async () => {
    busyUntilMs = nowMs() + lostAfterMs;
    await scheduler.wait(0);
  };
  try {
    const keys = new FilterKeys(randomHashKey());
    let untilMs = 0;
    let last = "";
    for (;;) {
      const page = pages.page(last, pageRows);
      for (const row of page) {
        keys.add(row.key);
        untilMs = Math.max(untilMs, row.untilMs);
      }
      await pause();
      if (page.length < pageRows) break;
      last = page.at(-1)!.key;
    }
    const build = buildRowFilter(keys, randomSeed);
    for (let step = build.next(); ; step = build.next()) {
      if (step.done === true) {
        return step.value && { filter: { seq, untilMs, bytes: step.value }, rows: keys.count };
      }
      await pause();
    }
  } finally {
    busyUntilMs = Number.NEGATIVE_INFINITY;
  }
}
