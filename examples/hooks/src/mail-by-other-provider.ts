import { WorkerEntrypoint } from "cloudflare:workers";
import type { HookMail, HookMailResult, Hooks } from "@edge-op/hooks";

interface Env {
  /** The endpoint of the provider's API. */
  readonly MAIL_API: string;
}

/** **Sends every mail by another provider**, here one with a simple JSON API, and says what came of it. */
export default class extends WorkerEntrypoint<Env> implements Hooks {
  async mail({ id, from, to, subject, text, html }: HookMail): Promise<HookMailResult> {
    const response = await fetch(this.env.MAIL_API, {
      method: "POST",
      headers: { "Idempotency-Key": id },
      body: JSON.stringify({ from: from.email, to, subject, text, html }),
    });
    if (response.ok) return { kind: "sent" };
    const problem = `status ${response.status}`;
    if (response.status === 422) return { kind: "suppressed", problem };
    return { kind: response.status === 401 ? "misconfigured" : "retry", problem };
  }
}
