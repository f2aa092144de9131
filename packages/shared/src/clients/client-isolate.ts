import { ControlView } from "../cache/control-view.ts";
import { KnownCredentials } from "../client-auth/known-credentials.ts";
import { ClientDirectory } from "../directory/client-directory.ts";
import { IssuerDirectory } from "../directory/issuer-directory.ts";
import { ResourceDirectory } from "../directory/resource-directory.ts";
import { UserDirectory } from "../directory/user-directory.ts";
import { Proofs } from "../dpop/require-proof.ts";
import { Challenges } from "../grants/challenges.ts";
import { RateShield } from "../http/rate-limit.ts";
import { IssuerKeys } from "../issuers/issuer-keys.ts";
import { ClientKeys } from "../jwt/verify-with-client-keys.ts";
import { KeyRing } from "../keys/key-ring.ts";
import { RevocationView } from "../revocation/revocation-view.ts";
import { ShardMap } from "../sharding/shard-map.ts";
import { createClientDocuments } from "./client-documents.ts";

/**
 * **The memory of an isolate** of a Worker that authenticates clients: copies and leases, never an authority. All parts share
 * one control view, so a change that one part learns of is known to the others.
 */
export function createClientIsolate() {
  const control = new ControlView();
  const shardMap = new ShardMap(control);
  const clientKeys = new ClientKeys();
  return {
    control,
    shardMap,
    clients: new ClientDirectory(control, createClientDocuments()),
    knownCredentials: new KnownCredentials(control),
    users: new UserDirectory(control),
    resources: new ResourceDirectory(control),
    keyRing: new KeyRing(control),
    revocation: new RevocationView(control, shardMap),
    clientKeys,
    issuers: new IssuerDirectory(control),
    issuerKeys: new IssuerKeys(clientKeys),
    challenges: new Challenges(shardMap),
    proofs: new Proofs(),
    rateShield: new RateShield(),
  };
}
