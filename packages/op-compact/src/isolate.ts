import type { FrontDoorIsolate } from "@edge-op/op/isolate";
import { DecryptionKeys } from "@edge-op/op-auth/runtime/decryption-keys";
import type { AuthIsolate } from "@edge-op/op-auth/runtime/isolate";
import { RefusalTimes } from "@edge-op/op-auth/runtime/refusal-times";
import { createUpstreamMetadata, UpstreamDirectory } from "@edge-op/op-auth/runtime/upstream-records";
import type { ManagementIsolate } from "@edge-op/op-management/isolate";
import { ClientResources, type TokenIsolate } from "@edge-op/op-token/isolate";
import type { UserinfoIsolate } from "@edge-op/op-userinfo/isolate";
import { createClientIsolate } from "@edge-op/shared/callers/endpoint-isolate";
import { createClientLogos } from "@edge-op/shared/clients/client-logos";
import { AuthorizationCodes } from "@edge-op/shared/codes/authorization-codes";
import { DeviceCodes } from "@edge-op/shared/codes/device-codes";
import { RememberedDecisions } from "@edge-op/shared/control/remembered-decisions";
import { RefreshFamilies } from "@edge-op/shared/refresh/refresh-families";
import { Attempts } from "@edge-op/shared/sessions/attempts";
import { Sessions } from "@edge-op/shared/sessions/sessions";
import { VerifiedTokens } from "@edge-op/shared/tokens/verified-tokens";

export type CompactIsolate = AuthIsolate & FrontDoorIsolate & ManagementIsolate & TokenIsolate & UserinfoIsolate;

/**
 * **The state that an isolate of the compact Worker keeps between requests**: one of each part, shared by all apps, so the caches together have the
 * same bound as those of one separate Worker (`isolateMemory`). If an app adds a part to its isolate, its absence here is a type error.
 */
export function createIsolate(): CompactIsolate {
  const isolate = createClientIsolate();
  const { clients, control, keyRing, shardMap } = isolate;
  return {
    ...isolate,
    verifiedTokens: new VerifiedTokens(control),
    decisions: new RememberedDecisions(control),
    codes: new AuthorizationCodes(shardMap, isolate.challenges),
    deviceCodes: new DeviceCodes(shardMap),
    refreshFamilies: new RefreshFamilies(shardMap),
    clientResources: new ClientResources(),
    sessions: new Sessions(shardMap),
    attempts: new Attempts(shardMap),
    refusalTimes: new RefusalTimes(),
    documentHosts: clients.documentHosts,
    logos: createClientLogos(),
    decryptionKeys: new DecryptionKeys(keyRing),
    upstreams: new UpstreamDirectory(control),
    upstreamMetadata: createUpstreamMetadata(),
    schedule: { currentWith: (context, algorithms) => keyRing.schedule(context, algorithms) },
  };
}
