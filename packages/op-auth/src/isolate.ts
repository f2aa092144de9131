import { createClientIsolate } from "@edge-op/shared/callers/endpoint-isolate";
import { createClientLogos } from "@edge-op/shared/clients/client-logos";
import { AuthorizationCodes } from "@edge-op/shared/codes/authorization-codes";
import { DeviceCodes } from "@edge-op/shared/codes/device-codes";
import { RefreshFamilies } from "@edge-op/shared/refresh/refresh-families";
import { Attempts } from "@edge-op/shared/sessions/attempts";
import { Sessions } from "@edge-op/shared/sessions/sessions";
import { RefusalTimes } from "./hooks/refusal-times.ts";
import { DecryptionKeys } from "./keys/decryption-keys.ts";
import { UpstreamDirectory } from "./upstream/records/upstream-directory.ts";
import { createUpstreamMetadata } from "./upstream/records/upstream-metadata.ts";

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
