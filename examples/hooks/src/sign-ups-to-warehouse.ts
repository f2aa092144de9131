import { WorkerEntrypoint } from "cloudflare:workers";
import type { Hooks, SignUpEvent } from "@edge-op/hooks";

interface Env {
  /** Where a data warehouse takes events. */
  readonly WAREHOUSE: string;
}

/** **Sends new accounts to a data warehouse**, without the name and address of the person. */
export default class extends WorkerEntrypoint<Env> implements Hooks {
  async afterSignUp({ sub, method }: SignUpEvent): Promise<void> {
    const event = { event: "sign-up", sub, method, at: new Date().toISOString() };
    await fetch(this.env.WAREHOUSE, { method: "POST", body: JSON.stringify(event) });
  }
}
