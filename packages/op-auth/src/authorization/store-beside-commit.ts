import type { ProvenKey } from "@edge-op/shared/callers/read-proof";
import type { OpenDecision } from "@edge-op/shared/control/settle";

/**
 * **Stores what a client receives, while the decision about it is committed.** `store` writes a row that only its result names. The result is returned
 * after the commit, so the row of a refused request, or of a decision that is made again, has a name that nobody knows, until it expires. Depth: that
 * of `store` in a busy isolate and after a pause.
 *
 * @returns The result of `store`. Throws what the commit or the proof throws, or what `store` throws.
 */
export async function storeBesideCommit<Stored>(
  decision: OpenDecision,
  proof: ProvenKey | undefined,
  store: () => Promise<Stored>,
): Promise<Stored> {
  const commit = async () => {
    await decision.commit();
    await proof?.spend();
  };
  const [stored] = await Promise.all([store(), commit()]);
  return stored;
}
