import { createClientIsolate } from "@edge-op/shared/callers/endpoint-isolate";
import { createClientLogos } from "@edge-op/shared/clients/client-logos";
import { AuthorizationCodes } from "@edge-op/shared/codes/authorization-codes";
import { DeviceCodes } from "@edge-op/shared/codes/device-codes";
import { RefreshFamilies } from "@edge-op/shared/refresh/refresh-families";
import { Attempts } from "@edge-op/shared/sessions/attempts";
import { Sessions } from "@edge-op/shared/sessions/sessions";
import { DecryptionKeys } from "./decryption-keys.ts";
import { RefusalTimes } from "./refusal-times.ts";
import { createUpstreamMetadata, UpstreamDirectory } from "./upstream-records.ts";

/** **The state that an isolate of op-auth keeps between requests.** */
export function createIsolate() {
  const isolate = createClientIsolate();
  const { control, shardMap, keyRing } = isolate;
  return {
    ...isolate,
    logos: createClientLogos(),
    decryptionKeys: new DecryptionKeys(keyRing),
    codes: new AuthorizationCodes(shardMap, isolate.challenges),
    refreshFamilies: new RefreshFamilies(shardMap),
    deviceCodes: new DeviceCodes(shardMap),
    sessions: new Sessions(shardMap),
    attempts: new Attempts(shardMap),
    refusalTimes: new RefusalTimes(),
    upstreams: new UpstreamDirectory(control),
    upstreamMetadata: createUpstreamMetadata(),
  };
}

export type AuthIsolate = ReturnType<typeof createIsolate>;
