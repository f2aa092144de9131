import type { ClientDirectory } from "../directory/client-directory.ts";
import type { ChallengeBindings, Challenges } from "../grants/challenges.ts";
import type { RateLimitBindings, RateShield } from "../http/rate-limit.ts";
import type { ClientKeys } from "../jwt/verify-with-client-keys.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import type { KnownCredentials } from "./known-credentials.ts";

/** **The parts of an isolate that client authentication uses.** */
export interface ClientAuthIsolate {
  readonly clients: Pick<ClientDirectory, "find" | "isHeld" | "confirm">;
  readonly knownCredentials: KnownCredentials;
  readonly clientKeys: ClientKeys;
  readonly challenges: Challenges;
  readonly rateShield: RateShield;
}

export type ClientAuthBindings = ChallengeBindings & MasterKeyBindings & RateLimitBindings;
