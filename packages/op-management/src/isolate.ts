import { createClientIsolate } from "@edge-op/shared/callers/endpoint-isolate";
import { RememberedDecisions } from "@edge-op/shared/control/remembered-decisions";
import { RefreshFamilies } from "@edge-op/shared/grants/refresh-families";
import { VerifiedTokens } from "@edge-op/shared/tokens/verified-tokens";
import { Attempts } from "@edge-op/shared/users/attempts";
import { Sessions } from "@edge-op/shared/users/sessions";

/** **The state that an isolate of op-management keeps between requests.** */
export function createIsolate() {
  const isolate = createClientIsolate();
  return {
    ...isolate,
    verifiedTokens: new VerifiedTokens(isolate.control),
    decisions: new RememberedDecisions(isolate.control),
    sessions: new Sessions(isolate.shardMap),
    attempts: new Attempts(isolate.shardMap),
    refreshFamilies: new RefreshFamilies(isolate.shardMap),
  };
}

export type ManagementIsolate = ReturnType<typeof createIsolate>;
