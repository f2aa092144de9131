import { WorkerEntrypoint } from "cloudflare:workers";
import type { ClaimsRequest, HookClaim, Hooks } from "@edge-op/hooks";

interface Env {
  /** The origin of the CRM. */
  readonly CRM: string;
}

/** **Adds the tenant of a person from a CRM** to every token and to UserInfo. */
export default class extends WorkerEntrypoint<Env> implements Hooks {
  async claims({ user }: ClaimsRequest): Promise<HookClaim[]> {
    const response = await fetch(`${this.env.CRM}/people/${encodeURIComponent(user.sub)}`);
    if (response.status === 404) return [];
    const { tenant } = (await response.json()) as { readonly tenant: string };
    return [{ name: "tenant", value: tenant }];
  }
}
