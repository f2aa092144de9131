import { WorkerEntrypoint } from "cloudflare:workers";
import type { ClaimsRequest, HookClaim, Hooks } from "@edge-op/hooks";

interface Env {
  /** The identifier of the only API that gets the claim. */
  readonly API: string;
}

/**
 * **Maps groups to a claim of an API**: `team-red` and `team-blue` are the teams "red" and "blue" there. Only tokens for that API alone contain it.
 */
export default class extends WorkerEntrypoint<Env> implements Hooks {
  claims({ user }: ClaimsRequest): HookClaim[] {
    const teams = user.groups.flatMap((group) => (group.startsWith("team-") ? [group.slice(5)] : []));
    const { API } = this.env;
    return [{ name: `${API}/teams`, value: teams, scope: "read", tokens: ["access_token"], resources: [API] }];
  }
}
