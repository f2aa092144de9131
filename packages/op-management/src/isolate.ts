import { RememberedDecisions } from "@edge-op/shared/cache/remembered-decisions";
import { createClientIsolate } from "@edge-op/shared/clients/client-isolate";
import { RefreshFamilies } from "@edge-op/shared/grants/refresh-families";
import { Sessions } from "@edge-op/shared/grants/sessions";
import { VerifiedTokens } from "@edge-op/shared/tokens/verified-tokens";

/** **The state that an isolate of op-management keeps between requests.** */
export function createIsolate() {
  const isolate = createClientIsolate();
  return {
    ...isolate,
    verifiedTokens: new VerifiedTokens(isolate.control),
    decisions: new RememberedDecisions(isolate.control),
    sessions: new Sessions(isolate.shardMap),
    refreshFamilies: new RefreshFamilies(isolate.shardMap),
  };
}

export type ManagementIsolate = ReturnType<typeof createIsolate>;
