import type { UsedProofs } from "./dpop-proof.ts";

/**
 * **Used DPoP proofs in the memory of an isolate**: refuses a repeated proof in this isolate. It remembers up to `most` proofs and then drops the
 * oldest. A store that all isolates share needs a Durable Object or similar.
 */
export function isolateUsedProofs(most = 10_000): UsedProofs {
  const used = new Map<string, number>();
  return {
    spend: (id, untilSeconds) => {
      const until = used.get(id);
      if (until !== undefined && until > Date.now() / 1000) return Promise.resolve(false);
      used.delete(id);
      used.set(id, untilSeconds);
      if (used.size > most) for (const oldest of [...used.keys()].slice(0, used.size - most)) used.delete(oldest);
      return Promise.resolve(true);
    },
  };
}
