import {
  longestDeviceCodeSeconds,
  longestRefreshTokenLifetimeSeconds,
  longestTokenLifetimeSeconds,
} from "../config/settings.ts";
import type { ShardedStore } from "./shard-address.ts";

/** **How long tokens, grants and generations of shards live**, whatever the settings are. */

/** An isolate may issue ids by a copy of the table (memory 5 min on KV 5 min), and a replay issues an ID token again within 3 min. */
const settlingMs = 15 * 60_000;

/** From the decision to issue a token, by any isolate, to its expiry. */
export const tokenLifeMs = longestTokenLifetimeSeconds * 1000 + settlingMs;

/** From the creation of a grant to the expiry of its last token: a family used on its last day issues one more access token. */
export const grantLifeMs = longestRefreshTokenLifetimeSeconds * 1000 + tokenLifeMs;

/** The first tokens of a grant are on the shard that was chosen when the person decided. A refresh moves the grant to the newest generation. */
const issuedLifeMs = longestDeviceCodeSeconds * 1000 + tokenLifeMs;

/** The longest lifetime of an id of a store. */
export const idLifeMs: Readonly<Record<ShardedStore, number>> = {
  revocation: issuedLifeMs,
  refresh: grantLifeMs,
  session: grantLifeMs,
  code: issuedLifeMs,
  challenge: issuedLifeMs,
  // No id names a relay.
  relay: settlingMs,
};

/** When no live token or session can name a generation (G2) of which no ids are issued since `mintedUntilMs`. */
export function retirementDueMs(store: ShardedStore, mintedUntilMs: number): number {
  return mintedUntilMs + idLifeMs[store];
}
