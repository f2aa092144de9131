import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { callHook, type HooksBindings, isHookEnabled, type SignUpEvent } from "@edge-op/shared/hooks/call-hook";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import { makeWordsOf } from "@edge-op/shared/users/search-index";
import { insertAddress, parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import { canonicalUsername } from "@edge-op/shared/users/username";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { insertIdentity, labelOf } from "./identity-store.ts";
import { domainOf, type UpstreamPerson } from "./kinds.ts";

/** Whether a person without an account gets one. */
export function maySignUp({ document }: Upstream, { address }: UpstreamPerson): boolean {
  const { sign_up: signUp, link_only: isLinkOnly, domains } = document;
  if (isLinkOnly || signUp === "off") return false;
  if (signUp === "anyone") return true;
  const domain = address?.isBelieved === true ? domainOf(address.address) : undefined;
  return domain !== undefined && domains.includes(domain);
}

/**
 * **Creates the user of an identity**, without roles, groups and password. A believed address is verified. If the identity or such an address has
 * been given an owner meanwhile, nothing changes. Cost: 1 D1 call.
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
  // Imported on first use: its schemas would delay the start of every isolate.
  const { claimsOf } = await import("./claims-of-person.ts");
  const claims = { ...claimsOf(upstream, person), updated_at: toSeconds(arrivedAtMs) };
  const { issuer, subject, address } = person;
  const believed = address?.isBelieved === true ? parseEmailAddress(address.address) : undefined;
  const insert = peopleOf(env.DB)
    .prepare(
      `INSERT INTO users (sub, username, username_key, claims, created_at_ms, updated_at_ms)
       SELECT ?1, ?2, ?3, ?4, ?5, ?5 WHERE NOT (${isTaken})`,
    )
    .bind(
      ...[sub, username, canonicalUsername(username) ?? null, JSON.stringify(claims), arrivedAtMs],
      ...[upstreamId, issuer, subject, believed?.key ?? null],
    );
  const event = recordAdminEvent(
    context,
    { action: "account.provisioned", target: sub, actor: sub, detail: { upstream_id: upstreamId } },
    { ifChanged: true },
  );
  const link = insertIdentity(env.DB, { upstreamId, issuer, subject, sub, label: labelOf(person), atMs: arrivedAtMs });
  const verified = believed === undefined ? [] : insertAddress(env.DB, sub, believed, arrivedAtMs);
  const [inserted] = await queryDatabase(() =>
    peopleOf(env.DB).batch([insert, event, link, ...verified, ...makeWordsOf(env.DB, { sub, username, claims })]),
  );
  wakeAuditLog(context);
  if (inserted?.meta.changes !== 0) announceSignUp(context, { sub, username, claims, method: "upstream" });
}

/**
 * Whether the identity (?6, ?7, ?8), or the believed address (?9), has an owner; an address that somebody may take back, or that is somebody's
 * username, too.
 */
const isTaken = `EXISTS (SELECT 1 FROM user_identities WHERE upstream_id = ?6 AND issuer = ?7 AND subject = ?8)
  OR EXISTS (SELECT 1 FROM user_addresses WHERE address_key = ?9 AND coalesce(held_until_ms, ?5 + 1) > ?5)
  OR EXISTS (SELECT 1 FROM users WHERE username_key = ?9)`;

/**
 * **Tells the hook `afterSignUp` of an account that is stored**, in the background: nobody waits for it, and it changes nothing. At most once: what
 * it does not accept, or what a request that dies has not sent, is not repeated. Cost: 0 unless it is enabled; then 1 RPC.
 */
export function announceSignUp(context: RequestContext<HooksBindings>, event: SignUpEvent): void {
  if (!isHookEnabled(context, "afterSignUp")) return;
  context.waitUntil(callHook(context, "afterSignUp", event, () => undefined));
}
