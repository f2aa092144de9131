import type { SeedClient } from "../lib/seed-file.ts";
import { startProcess } from "../lib/start-process.ts";
import { type RefreshSeeds, type Workload, workloadsOf } from "./workloads.ts";

export interface Peer {
  readonly origin: string;
  readonly workloads: readonly Workload[];
  readonly processId: number;
  stop(): Promise<void>;
}

export const peerName = "node-oidc-provider";

export interface PeerOptions {
  /** Durable records, and JWTs as access tokens, like ours; in its memory and opaque by default. */
  readonly likeOurs?: boolean;
  /** The round trip to its database, in milliseconds. */
  readonly databaseMs?: number;
}

interface Said {
  readonly origin: string;
  readonly clients: Readonly<Record<"bench" | "bench-rs256" | "bench-es256", SeedClient>>;
  readonly tokens: string[];
  readonly refreshTokens: Readonly<Record<"opaque" | "rs256" | "es256", string[]>>;
}

/**
 * **Starts the peer of the benchmark**, with the requests that both support. `families` is the number of refresh tokens of each kind. The peer does
 * not exchange tokens.
 */
export async function startPeer(families: number, options: PeerOptions = {}): Promise<Peer> {
  const script = new URL("serve-peer.js", import.meta.url).pathname;
  const { said, processId, stop } = await startProcess<Said>(script, { families, ...options });
  const { origin, clients, tokens, refreshTokens } = said;
  const { bench, "bench-rs256": rs256, "bench-es256": es256 } = clients;
  const refresh: RefreshSeeds = {
    plain: { client: bench, tokens: refreshTokens.opaque },
    rs256: { client: rs256, tokens: refreshTokens.rs256 },
    es256: { client: es256, tokens: refreshTokens.es256 },
  };
  const all = workloadsOf({ clients: { introspecting: bench, exchanging: bench, own: bench }, tokens, refresh });
  return { origin, workloads: all.filter(({ name }) => name !== "exchange"), processId, stop };
}
