import { RequestReports } from "../audit/request-reports.ts";
import { ClientDirectory } from "../clients/client-directory.ts";
import { ClientKeys } from "../clients/client-keys.ts";
import { createClientDocuments } from "../clients/metadata-documents.ts";
import { ControlView } from "../control/control-view.ts";
import { IssuerDirectory, IssuerKeys } from "../issuers/issuer-directory.ts";
import { KeyRing } from "../keys/key-ring.ts";
import { RevocationView } from "../leases/revocation-view.ts";
import { ResourceDirectory } from "../resources/resource-directory.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { type ChallengeBindings, Challenges } from "../storage/challenges.ts";
import { ShardMap } from "../storage/shard-map.ts";
import { UserDirectory } from "../users/user-directory.ts";
import { KnownCredentials } from "./client-secret.ts";
import { type RateLimitBindings, RateShield } from "./rate-limit.ts";
import { DpopProofs } from "./read-proof.ts";

/** **The parts of an isolate that client authentication uses.** */
export interface ClientAuthIsolate {
  readonly clients: Pick<ClientDirectory, "find" | "isHeld" | "recheck">;
  readonly knownCredentials: KnownCredentials;
  readonly clientKeys: ClientKeys;
  readonly challenges: Challenges;
  readonly rateShield: RateShield;
}

export type ClientAuthBindings = ChallengeBindings & MasterKeyBindings & RateLimitBindings;

/**
 * **The memory of an isolate** of a Worker that authenticates clients: copies and leases, never an authority. All parts share one control view, so
 * all of them know every change that one of them receives.
 */
export function createClientIsolate() {
  const control = new ControlView();
  const shardMap = new ShardMap(control);
  const clientKeys = new ClientKeys();
  const resources = new ResourceDirectory(control);
  return {
    control,
    shardMap,
    clients: new ClientDirectory(control, createClientDocuments(), resources),
    knownCredentials: new KnownCredentials(control),
    users: new UserDirectory(control),
    resources,
    keyRing: new KeyRing(control),
    revocation: new RevocationView(control, shardMap),
    clientKeys,
    issuers: new IssuerDirectory(control),
    issuerKeys: new IssuerKeys(clientKeys),
    challenges: new Challenges(shardMap),
    dpopProofs: new DpopProofs(),
    rateShield: new RateShield(),
    reports: new RequestReports(),
  };
}
