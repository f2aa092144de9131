import { createClientIsolate } from "@edge-op/shared/callers/endpoint-isolate";
import { RememberedDecisions } from "@edge-op/shared/control/remembered-decisions";
import { RefreshFamilies } from "@edge-op/shared/refresh/refresh-families";
import { Attempts } from "@edge-op/shared/sessions/attempts";
import { Sessions } from "@edge-op/shared/sessions/sessions";
import { VerifiedTokens } from "@edge-op/shared/tokens/verified-tokens";

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
