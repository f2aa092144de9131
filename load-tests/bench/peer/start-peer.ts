import type { SeedClient } from "../../lib/seed-file.ts";
import { startProcess } from "../../lib/start-process.ts";
import { type Workload, workloadsOf } from "../workloads.ts";

/** **The peer that the benchmark compares with**, and the requests that both support. */
export interface Peer {
  readonly origin: string;
  readonly workloads: readonly Workload[];
  readonly processId: number;
  stop(): Promise<void>;
}

export const peerName = "node-oidc-provider";

/** It exchanges no tokens, and rotating ones make its in-memory adapter slower with every rotation: neither says anything. */
const comparable = ["introspect", "userinfo", "client_credentials"];

export async function startPeer(): Promise<Peer> {
  const script = new URL("serve-peer.js", import.meta.url).pathname;
  const { said, processId, stop } = await startProcess<{ origin: string; client: SeedClient; tokens: string[] }>(
    script,
  );
  const { origin, client, tokens } = said;
  const clients = { introspecting: client, exchanging: client, own: client, refreshing: client };
  const workloads = workloadsOf({ clients, tokens, refreshTokens: [] });
  return { origin, workloads: workloads.filter(({ name }) => comparable.includes(name)), processId, stop };
}
