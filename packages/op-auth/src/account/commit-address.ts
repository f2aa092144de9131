import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { commitControlChange } from "@edge-op/shared/control/commit-control-change";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { openSealed, sealText } from "@edge-op/shared/secrets/seal";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { EmailAddress } from "@edge-op/shared/users/email-address";
import { endUserSessions } from "@edge-op/shared/users/ending-sessions";
import { forgetOfflineGrants } from "@edge-op/shared/users/offline-grants";
import { tellPerson } from "@edge-op/shared/users/tell-person";
import type { User } from "@edge-op/shared/users/user";
import { listAddresses, storedSpelling, type UserAddress, verifiedAddress } from "@edge-op/shared/users/user-addresses";
import type { AuthEnv } from "../auth-env.ts";

/** For so long a replaced or removed address can take the change back. */
export const heldMs = 7 * 86_400_000;
export const mostAddresses = 5;
const areMany = `(SELECT count(*) FROM user_addresses WHERE sub = ?1 AND held_until_ms IS NULL) >= ${mostAddresses}`;
/** ?1 is the `sub`, ?2 the key. */
export const isOwnAddress =
  "EXISTS (SELECT 1 FROM user_addresses WHERE address_key = ?2 AND sub = ?1 AND held_until_ms IS NULL)";
const undoBound = "undo of an address";

export const undoPath = "/account/address/undo";

/**
 * **Makes a proven address the address of a person**, the one of their claims. The previous one no longer identifies anybody, receives a mail with a link that
 * undoes the change, and nobody else can use it for a week. Returns false if somebody else has or holds the address, or has it as their username.
 * Sessions and grants stay. Cost: tell-person.ts and one control change.
 */
export async function commitAddress(
  context: RequestContext<AuthEnv>,
  { sub, claims }: Pick<User, "sub" | "claims">,
  { key, address }: EmailAddress,
): Promise<boolean> {
  const { env, arrivedAtMs: atMs } = context;
  const previous = verifiedAddress(claims);
  const take = takeAddress(context, sub, { key, address });
  const hold = env.DB.prepare(
    `UPDATE user_addresses SET held_until_ms = ?3 WHERE sub = ?1 AND address_key = ?4 AND address_key <> ?2 AND held_until_ms IS NULL AND ${isOwnAddress}`,
  ).bind(sub, key, atMs + heldMs, previous?.key ?? null);
  const changed = { action: "address.changed", target: sub, actor: sub };
  const statements = [
    take,
    recordAdminEvent(context, changed, { ifChanged: true }),
    hold,
    setClaims(context, { sub, key, address }, isOwnAddress),
  ];
  const undo =
    previous === undefined || previous.key === key
      ? undefined
      : { address: previous.address, path: await undoLink(context, { sub, key: previous.key }) };
  const notice = { sub, claims, kind: "address-changed", evidence: changed, undo } as const;
  const isTaken = await tellPerson(context, notice, async () => {
    const { results } = await commitControlChange(context, statements, [{ kind: "user", id: sub }]);
    return results[0]?.meta.changes === 1;
  });
  wakeAuditLog(context);
  return isTaken;
}

/**
 * **Adds an address that a person has proven.** False if somebody else has or holds it, or has it as their username, or if there are five. Cost: tell-person.ts
 * and 1 D1 call.
 */
export async function addAddress(
  context: RequestContext<AuthEnv>,
  { sub, claims }: Pick<User, "sub" | "claims">,
  address: EmailAddress,
): Promise<boolean> {
  const added = { action: "address.added", target: sub, actor: sub };
  const statements = [
    takeAddress(context, sub, address, `(NOT ${isOwnAddress} AND ${areMany})`),
    recordAdminEvent(context, added, { ifChanged: true }),
  ];
  const isAdded = await tellPerson(context, { sub, claims, kind: "address-added", evidence: added }, async () => {
    const [result] = await queryDatabase(() => context.env.DB.batch(statements));
    return result?.meta.changes === 1;
  });
  if (isAdded) wakeAuditLog(context);
  return isAdded;
}

/** Changes nothing if somebody else has or holds the address, or has it as their username. `unless`: or if this condition holds; ?1 is the `sub`. */
function takeAddress(
  { env, arrivedAtMs: atMs }: RequestContext<AuthEnv>,
  sub: string,
  { key, address }: EmailAddress,
  unless = "0",
): D1PreparedStatement {
  return env.DB.prepare(
    `INSERT INTO user_addresses (address_key, sub, address, verified_at_ms)
       SELECT ?2, ?1, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM users WHERE username_key = ?2 AND sub <> ?1) AND NOT ${unless}
       ON CONFLICT (address_key) DO UPDATE
         SET sub = ?1, address = ?3, verified_at_ms = iif(sub = ?1, verified_at_ms, ?4), held_until_ms = NULL WHERE sub = ?1 OR held_until_ms <= ?4`,
  ).bind(sub, key, storedSpelling({ key, address }), atMs);
}

/** ?1 is the `sub`, ?2 the key. */
export function setClaims(
  { env, arrivedAtMs: atMs }: RequestContext<AuthEnv>,
  { sub, key, address }: EmailAddress & { readonly sub: string },
  condition: string,
): D1PreparedStatement {
  return env.DB.prepare(
    `UPDATE users SET updated_at_ms = max(updated_at_ms + 1, ?4),
         claims = json_set(claims, '$.email', ?3, '$.email_verified', json('true'), '$.updated_at', ?5)
       WHERE sub = ?1 AND ${condition}`,
  ).bind(sub, key, address, atMs, Math.floor(atMs / 1000));
}

interface Undo {
  readonly sub: string;
  readonly key: string;
}

export async function undoLink({ env }: RequestContext<AuthEnv>, { sub, key }: Undo): Promise<string> {
  const sealed = await sealText(env, "flow-seal", JSON.stringify([sub, key]), { bound: undoBound });
  return `${undoPath}?${new URLSearchParams({ undo: sealed })}`;
}

/**
 * Reads the link of a mail; `undefined` if the change was undone or can no longer be undone. An address cannot undo a change in favour of an earlier
 * address of the person, so a thief who has added one gains nothing when the owner removes it. Cost: 1 D1 call; 0 for a forged one.
 */
export async function findUndo(
  { env, arrivedAtMs }: RequestContext<AuthEnv>,
  sealed: string | undefined,
): Promise<(Undo & { readonly address: string }) | undefined> {
  const text = sealed === undefined ? undefined : await openSealed(env, "flow-seal", sealed, undoBound);
  if (text === undefined) return undefined;
  const [sub = "", key = ""] = JSON.parse(text) as readonly string[];
  const addresses = await listAddresses(env.DB, sub);
  const row = addresses.find((each) => each.key === key);
  const isHeld = row?.heldUntilMs !== undefined && row.heldUntilMs > arrivedAtMs;
  return isHeld && mayTakeBack(row, addresses) ? { sub, key, address: row.address } : undefined;
}

/** Whether no other address that the person has is older. */
export function mayTakeBack(removed: UserAddress, addresses: readonly UserAddress[]): boolean {
  const others = addresses.filter(({ key, heldUntilMs }) => key !== removed.key && heldUntilMs === undefined);
  return others.every(({ verifiedAtMs }) => removed.verifiedAtMs <= verifiedAtMs);
}

/**
 * **Undoes a change of address**: whoever made it is signed out everywhere, and later addresses are removed. It signs nobody in; the person sets a
 * new password with the address. Cost: one control change, with a cut-off.
 */
export async function undoAddress(
  context: RequestContext<AuthEnv>,
  { sub, key, address }: Undo & { readonly address: string },
): Promise<void> {
  const { env, arrivedAtMs: atMs } = context;
  const others = "DELETE FROM user_addresses WHERE sub = ?1 AND address_key <> ?2";
  const own = "UPDATE user_addresses SET held_until_ms = NULL WHERE sub = ?1 AND address_key = ?2";
  const undone = { action: "address.undone", target: sub, actor: sub };
  const statements = [
    env.DB.prepare(own).bind(sub, key),
    recordAdminEvent(context, undone, { ifChanged: true }),
    env.DB.prepare(others).bind(sub, key),
    setClaims(context, { sub, key, address }, "?2 IS NOT NULL"),
    ...endUserSessions(env.DB, sub, { reason: "address change undone", atMs }),
    forgetOfflineGrants(env.DB, sub),
  ];
  await commitControlChange(context, statements, [{ kind: "user", id: sub }], { kind: "sub", id: sub, actor: sub });
  wakeAuditLog(context);
}
