import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { takeBackLinkTo, takeBackMs } from "@edge-op/shared/mail/sealed-links";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { peopleOf } from "@edge-op/shared/storage/people";
import { makeWordsOf } from "@edge-op/shared/users/search-index";
import type { User } from "@edge-op/shared/users/user";
import type { EmailAddress } from "@edge-op/shared/users/user-addresses";
import { storedSpelling, verifiedAddress } from "@edge-op/shared/users/user-addresses";
import { canonicalUsername } from "@edge-op/shared/users/username";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { basisOf, type SignedInPerson } from "../session/signed-in-person.ts";
import { changeAs, whileInForce, whileUnchanged, writeAs } from "../session/write-as.ts";

export const mostAddresses = 5;
const areMany = `(SELECT count(*) FROM user_addresses WHERE sub = ?1 AND held_until_ms IS NULL) >= ${mostAddresses}`;
/** ?1 is the `sub`, ?2 the key. */
export const isOwnAddress =
  "EXISTS (SELECT 1 FROM user_addresses WHERE address_key = ?2 AND sub = ?1 AND held_until_ms IS NULL)";
/** The main address, as the claims have it: ?1 is the `sub`, ?2 what was read. */
const isMainAddress = "(SELECT claims ->> '$.email' FROM users WHERE sub = ?1) IS ?2";

/**
 * **Makes a proven address the address of a person**, the one of their claims. The previous one no longer identifies anybody, receives a mail with a
 * link that undoes the change, and nobody else can use it for a week. Returns false if somebody else has or holds the address, or has it as their
 * username. Sessions and grants stay. Cost: tell-person.ts and one control change.
 */
export async function commitAddress(
  context: RequestContext<AuthEnv>,
  person: SignedInPerson,
  { key, address }: EmailAddress,
): Promise<boolean> {
  const { sub, username, claims } = person.user;
  const { env, arrivedAtMs: atMs } = context;
  const previous = verifiedAddress(claims);
  const take = takeAddress(context, sub, { key, address });
  const hold = peopleOf(env.DB)
    .prepare(
      `UPDATE user_addresses SET held_until_ms = ?3 WHERE sub = ?1 AND address_key = ?4 AND address_key <> ?2 AND held_until_ms IS NULL AND ${isOwnAddress}`,
    )
    .bind(sub, key, atMs + takeBackMs, previous?.key ?? null);
  const changed = { action: "address.changed", target: sub, actor: sub };
  const statements = [
    take,
    recordAdminEvent(context, changed, { ifChanged: true }),
    hold,
    setClaims(context, { sub, key, address }, isOwnAddress),
    ...makeWordsOf(env.DB, {
      ...{ sub, username: isNamedBy(person.user, previous) ? address : username },
      claims: { ...claims, email: address },
    }),
  ];
  const undo =
    previous === undefined || previous.key === key
      ? undefined
      : { address: previous.address, path: await takeBackLinkTo(env, { sub, key: previous.key }) };
  const notice = { sub, claims, kind: "address-changed", evidence: changed, undo } as const;
  const isTaken = await tellPerson(context, notice, async () => {
    const { results } = await changeAs(context, mainChange(context, person), statements, {
      changes: [{ kind: "user", id: sub }],
    });
    return results[0]?.meta.changes === 1;
  });
  wakeAuditLog(context);
  return isTaken;
}

/**
 * **Adds an address that a person has proven.** False if somebody else has or holds it, or has it as their username, or if there are five. Cost:
 * tell-person.ts and 1 D1 call.
 */
export async function addAddress(
  context: RequestContext<AuthEnv>,
  person: SignedInPerson,
  address: EmailAddress,
): Promise<boolean> {
  const { sub, claims } = person.user;
  const added = { action: "address.added", target: sub, actor: sub };
  const statements = [
    takeAddress(context, sub, address, `(NOT ${isOwnAddress} AND ${areMany})`),
    recordAdminEvent(context, added, { ifChanged: true }),
  ];
  const takesBack = { kind: "address", id: address.key } as const;
  const notice = { sub, claims, kind: "address-added", evidence: added, takesBack } as const;
  const isAdded = await tellPerson(context, notice, async () => {
    return writeAs(context, basisOf(person), statements);
  });
  if (isAdded) wakeAuditLog(context);
  return isAdded;
}

/** What a change of the main address rests on: the session, and the main address that was read. */
export function mainChange({ env: { DB } }: RequestContext<AuthEnv>, person: SignedInPerson) {
  const { sub, claims } = person.user;
  return [whileInForce(DB, basisOf(person)), whileUnchanged(DB, isMainAddress, sub, claims.email ?? null)] as const;
}

/** Changes nothing if somebody else has or holds the address, or has it as their username. `unless`: or if this condition holds; ?1 is the `sub`. */
function takeAddress(
  { env, arrivedAtMs: atMs }: RequestContext<AuthEnv>,
  sub: string,
  { key, address }: EmailAddress,
  unless = "0",
): D1PreparedStatement {
  return peopleOf(env.DB)
    .prepare(
      `INSERT INTO user_addresses (address_key, sub, address, verified_at_ms)
       SELECT ?2, ?1, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM users WHERE username_key = ?2 AND sub <> ?1) AND NOT ${unless}
       ON CONFLICT (address_key) DO UPDATE
         SET sub = ?1, address = ?3, verified_at_ms = iif(sub = ?1, verified_at_ms, ?4), held_until_ms = NULL WHERE sub = ?1 OR held_until_ms <= ?4`,
    )
    .bind(sub, key, storedSpelling({ key, address }), atMs);
}

function isNamedBy({ username }: Pick<User, "username">, address: EmailAddress | undefined): boolean {
  return address !== undefined && canonicalUsername(username) === address.key;
}

/** Whether the username of the person ?1 is an address of theirs, and nobody else is named by ?2. */
const isNamedByAddress = `(username_key = lower(claims ->> '$.email')
    OR EXISTS (SELECT 1 FROM user_addresses named WHERE named.sub = ?1 AND named.address_key = users.username_key))
  AND NOT EXISTS (SELECT 1 FROM users other WHERE other.username_key = ?2 AND other.sub <> ?1)`;

/**
 * Makes an address the one of the claims. **A username that is an address of the person follows**: whoever has the mailbox of a previous address
 * later can sign up with it, and it signs nobody else in. ?1 is the `sub`, ?2 the key.
 */
export function setClaims(
  { env, arrivedAtMs: atMs }: RequestContext<AuthEnv>,
  { sub, key, address }: EmailAddress & { readonly sub: string },
  condition: string,
): D1PreparedStatement {
  return peopleOf(env.DB)
    .prepare(
      `UPDATE users SET updated_at_ms = max(updated_at_ms + 1, ?4),
         username = iif(${isNamedByAddress}, ?3, username), username_key = iif(${isNamedByAddress}, ?2, username_key),
         claims = json_set(claims, '$.email', ?3, '$.email_verified', json('true'), '$.updated_at', ?5)
       WHERE sub = ?1 AND ${condition}`,
    )
    .bind(sub, key, address, atMs, Math.floor(atMs / 1000));
}
