import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import { mappedClaims } from "@edge-op/shared/upstreams/upstream-schema";
import { readClaim } from "@edge-op/shared/users/claims-schema";
import type { UserClaims } from "@edge-op/shared/users/user";
import { canonicalUsername } from "@edge-op/shared/users/username";
import type { AuthEnv } from "../auth-env.ts";
import { holderOf } from "./address-holder.ts";
import { insertIdentity, labelOf } from "./identity-store.ts";
import { domainOf, type UpstreamPerson } from "./upstream-person.ts";

/** Whether a person without an account gets one. */
export function maySignUp({ document }: Upstream, { address }: UpstreamPerson): boolean {
  const { sign_up: signUp, link_only: isLinkOnly, domains } = document;
  if (isLinkOnly || signUp === "off") return false;
  if (signUp === "anyone") return true;
  const domain = address?.isBelieved === true ? domainOf(address.address) : undefined;
  return domain !== undefined && Object.hasOwn(domains, domain);
}

/**
 * **Creates the user of an identity**, without roles, groups and password. A believed address is verified. If the identity or such an address has been
 * given an owner meanwhile, nothing changes. Cost: 1 D1 call.
 */
export async function provisionUser(
  context: RequestContext<AuthEnv>,
  upstream: Upstream,
  person: UpstreamPerson,
): Promise<void> {
  const { env, arrivedAtMs } = context;
  const { upstreamId } = upstream;
  const sub = `u${randomBase64Url(16)}`;
  // Not the address: the person may give it up, and someone else get it.
  const username = `${upstreamId}-${randomBase64Url(9)}`.toLowerCase();
  const claims = { ...claimsOf(upstream, person), updated_at: toSeconds(arrivedAtMs) };
  const { issuer, subject, address } = person;
  const believed = address?.isBelieved === true ? address.address : null;
  const insert = env.DB.prepare(
    `INSERT INTO users (sub, username, username_key, claims, created_at_ms, updated_at_ms)
       SELECT ?1, ?2, ?3, ?4, ?5, ?5 WHERE NOT (${identityExists}) AND NOT EXISTS (${holderOf("?9")})`,
  ).bind(
    ...[sub, username, canonicalUsername(username) ?? null, JSON.stringify(claims), arrivedAtMs],
    ...[upstreamId, issuer, subject, believed],
  );
  const event = recordAdminEvent(
    context,
    { action: "account.provisioned", target: sub, actor: sub, detail: { upstream_id: upstreamId } },
    { ifChanged: true },
  );
  const link = insertIdentity(env.DB, { upstreamId, issuer, subject, sub, label: labelOf(person), atMs: arrivedAtMs });
  await queryDatabase(() => env.DB.batch([insert, event, link]));
  wakeAuditLog(context);
}

/** ?6 is the provider, ?7 the issuer, ?8 the subject. */
const identityExists = "EXISTS (SELECT 1 FROM user_identities WHERE upstream_id = ?6 AND issuer = ?7 AND subject = ?8)";

/** The claims of a new user: those that may be mapped, each if its value is valid. The address has rules of its own. */
function claimsOf({ document }: Upstream, { claims, address }: UpstreamPerson): UserClaims {
  const named = mappedClaims.map((name) => [name, readClaim(name, claims[document.claims[name] ?? name])]);
  const valid = Object.fromEntries(named.filter(([, value]) => value !== undefined)) as UserClaims;
  const email = readClaim("email", address?.address);
  if (address === undefined || email === undefined) return valid;
  return { ...valid, email: address.address, email_verified: address.isBelieved };
}
