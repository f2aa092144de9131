import type { ClientDirectory } from "../clients/client-directory.ts";
import type { ClientKeys } from "../clients/client-keys.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import type { ChallengeBindings, Challenges } from "../storage/challenges.ts";
import type { KnownCredentials } from "./known-credentials.ts";
import type { RateLimitBindings, RateShield } from "./rate-limit.ts";

/** **The parts of an isolate that client authentication uses.** */
export interface ClientAuthIsolate {
  readonly clients: Pick<ClientDirectory, "find" | "isHeld" | "recheck">;
  readonly knownCredentials: KnownCredentials;
  readonly clientKeys: ClientKeys;
  readonly challenges: Challenges;
  readonly rateShield: RateShield;
}

export type ClientAuthBindings = ChallengeBindings & MasterKeyBindings & RateLimitBindings;
