import { chainStart } from "../audit/audit-event.ts";
import { hexOf, sha256 } from "../runtime/bytes.ts";
import type { ChainHead } from "./log-rows.ts";

/** The one chain before its first event. */
export const emptyChain: ChainHead = { position: 0, chain: chainStart };

/** **The chain value behind an event**: it depends on every event before, so one value identifies a whole history. */
export async function nextChainValue(chain: string, hash: string): Promise<string> {
  return hexOf(await sha256(JSON.stringify([chain, hash])));
}
