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

interface Said {
  readonly origin: string;
  readonly clients: Readonly<Record<"bench" | "bench-jwt" | "bench-rs256" | "bench-es256", SeedClient>>;
  readonly tokens: string[];
  readonly refreshTokens: Readonly<Record<"opaque" | "rs256" | "es256", string[]>>;
}

/**
 * **Starts the peer of the benchmark**, with the requests that both support. `families` is the number of refresh tokens of each kind. The peer does
 * not exchange tokens.
 */
export async function startPeer(families: number): Promise<Peer> {
  const script = new URL("serve-peer.js", import.meta.url).pathname;
  const { said, processId, stop } = await startProcess<Said>(script, { families });
  const { origin, clients, tokens, refreshTokens } = said;
  const { bench, "bench-rs256": rs256, "bench-es256": es256 } = clients;
  const refresh: RefreshSeeds = {
    plain: { client: bench, tokens: refreshTokens.opaque },
    rs256: { client: rs256, tokens: refreshTokens.rs256 },
    es256: { client: es256, tokens: refreshTokens.es256 },
  };
  const common = { introspecting: bench, exchanging: bench };
  const opaque = workloadsOf({ clients: { ...common, own: bench }, tokens, refresh });
  const signed = workloadsOf({ clients: { ...common, own: clients["bench-jwt"] }, tokens, refresh });
  const workloads = [
    ...opaque.filter(({ name }) => name !== "exchange"),
    ...signed
      .filter(({ name }) => name === "client_credentials")
      .map((workload) => ({ ...workload, name: signedClientCredentials })),
  ];
  return { origin, workloads, processId, stop };
}

/** The peer's client_credentials as an ES256 JWT, like ours; the workload of the common name issues opaque tokens. */
export const signedClientCredentials = "client_credentials as ES256 JWT";
