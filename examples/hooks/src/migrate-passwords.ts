import { WorkerEntrypoint } from "cloudflare:workers";
import type { Hooks, LegacyPasswordRequest } from "@edge-op/hooks";

interface Env {
  /** The endpoint of the earlier system that verifies a password. */
  readonly LEGACY: string;
}

/** **Moves passwords from an earlier system when their people sign in**: it is asked once for each of them. */
export default class extends WorkerEntrypoint<Env> implements Hooks {
  async legacyPassword({ username, password }: LegacyPasswordRequest): Promise<boolean> {
    const body = JSON.stringify({ username, password });
    const response = await fetch(this.env.LEGACY, { method: "POST", body });
    return response.status === 200;
  }
}
