import { hexOf, sha256 } from "@edge-op/protocol/encoding/bytes";
import { type ChainHead, chainStart } from "@edge-op/shared/audit/audit-event";

/** The single chain before its first event. */
export const emptyChain: ChainHead = { position: 0, chain: chainStart };

/** **The chain value behind an event**: it depends on every earlier event, so one value identifies the whole history. */
export async function nextChainValue(chain: string, hash: string): Promise<string> {
  return hexOf(await sha256(JSON.stringify([chain, hash])));
}
