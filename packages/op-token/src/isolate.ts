import { createClientIsolate } from "@edge-op/shared/callers/endpoint-isolate";
import { AuthorizationCodes } from "@edge-op/shared/codes/authorization-codes";
import { DeviceCodes } from "@edge-op/shared/codes/device-codes";
import { RememberedDecisions } from "@edge-op/shared/control/remembered-decisions";
import { RefreshFamilies } from "@edge-op/shared/refresh/refresh-families";
import { VerifiedTokens } from "@edge-op/shared/tokens/verified-tokens";
import { ClientResources } from "./client-resources.ts";

/** **The memory of an isolate of op-token**, kept between requests. */
export function createIsolate() {
  const isolate = createClientIsolate();
  return {
    ...isolate,
    verifiedTokens: new VerifiedTokens(isolate.control),
    decisions: new RememberedDecisions(isolate.control),
    codes: new AuthorizationCodes(isolate.shardMap, isolate.challenges),
    deviceCodes: new DeviceCodes(isolate.shardMap),
    refreshFamilies: new RefreshFamilies(isolate.shardMap),
    clientResources: new ClientResources(),
  };
}

export type TokenIsolate = ReturnType<typeof createIsolate>;
