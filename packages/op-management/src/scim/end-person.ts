import type { ControlChange } from "@edge-op/shared/control/commit-control-change";
import { membershipId } from "@edge-op/shared/cut-offs/cut-offs";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { AdminChange } from "../admin/commit-change.ts";
import { nextVersion } from "../admin/optimistic-concurrency.ts";
import { deleteMember, findMember, updateMember } from "../organizations/member-store.ts";
import { forgetAccess } from "../users/patch-user.ts";
import type { DirectoryUser } from "./directory-store.ts";
import type { ScimCall } from "./resources.ts";

/** The part of a change that concerns the person. */
export interface PersonChange extends Pick<AdminChange, "statements" | "forget" | "cutOff"> {
  /** The version of what is written. */
  readonly atMs: number;
  readonly suspendedAtMs: number | undefined;
}

/** Nothing but this organisation gives the account anything: no other membership, and nothing to sign in with of its own. */
const isSole = `NOT EXISTS (SELECT 1 FROM memberships WHERE sub = ?1 AND org_id <> ?2)
  AND NOT EXISTS (SELECT 1 FROM user_passwords WHERE sub = ?1) AND NOT EXISTS (SELECT 1 FROM webauthn_credentials WHERE sub = ?1)
  AND NOT EXISTS (SELECT 1 FROM user_totp WHERE sub = ?1) AND NOT EXISTS (SELECT 1 FROM user_identities WHERE sub = ?1)`;

const account = (sub: string): readonly ControlChange[] => [
  { kind: "user", id: sub },
  { kind: "rbac", id: sub },
];

/**
 * **S3: ends what a person has of this organisation**, by suspension or, with the resource, by removal. The cut-off is committed again by a repeated
 * request: the response to the first may be lost before it was in force. An account that SCIM of this organisation created, and that has nothing
 * else, is suspended too.
 */
export async function endPerson(
  call: ScimCall,
  known: DirectoryUser,
  sub: string,
  isRemoval: boolean,
): Promise<PersonChange> {
  const { DB } = call.context.env;
  const { orgId } = call.store;
  const [member, person] = await Promise.all([
    findMember(DB, orgId, sub),
    queryDatabase(() =>
      peopleOf(DB)
        .prepare(
          `SELECT updated_at_ms AS version, status = 'active' AND ${isSole} AS isEnding FROM users WHERE sub = ?1`,
        )
        .bind(sub, orgId)
        .first<{ readonly version: number; readonly isEnding: number }>(),
    ),
  ]);
  const atMs = nextVersion(Math.max(known.version, member?.updatedAtMs ?? 0, person?.version ?? 0), nowMs());
  const endsAccount = known.createdAccount && person?.isEnding === 1;
  const suspends = member?.status === "active" && !isRemoval;
  return {
    atMs,
    suspendedAtMs: suspends ? atMs : known.suspendedAtMs,
    statements: [
      ...(member !== undefined && isRemoval ? deleteMember(DB, member) : []),
      ...(suspends ? updateMember(DB, member, { ...member, status: "suspended", atMs }) : []),
      ...(endsAccount
        ? [
            peopleOf(DB)
              .prepare(
                `UPDATE users SET status = 'suspended', updated_at_ms = ?3 WHERE sub = ?1 AND status = 'active' AND updated_at_ms < ?3 AND ${isSole}`,
              )
              .bind(sub, orgId, atMs),
            ...forgetAccess(DB, sub),
          ]
        : []),
    ],
    forget: [{ kind: "membership", id: membershipId(orgId, sub) }, ...(endsAccount ? account(sub) : [])],
    cutOff: endsAccount ? { kind: "sub", id: sub } : { kind: "member", id: membershipId(orgId, sub) },
  };
}

/**
 * **Gives back what SCIM suspended**: the membership with its roles, and the account, if nobody has changed them since. `undefined`: there is no
 * membership any more.
 */
export async function restorePerson(
  call: ScimCall,
  known: DirectoryUser,
  sub: string,
): Promise<PersonChange | undefined> {
  const { DB } = call.context.env;
  const { orgId } = call.store;
  const member = await findMember(DB, orgId, sub);
  if (member === undefined) return undefined;
  const atMs = nextVersion(Math.max(known.version, member.updatedAtMs), nowMs());
  if (member.status === "active" || member.updatedAtMs !== known.suspendedAtMs) {
    return { atMs, suspendedAtMs: undefined, statements: [], forget: [] };
  }
  return {
    atMs,
    suspendedAtMs: undefined,
    statements: [
      ...updateMember(DB, member, { ...member, status: "active", atMs }),
      peopleOf(DB)
        .prepare(
          `UPDATE users SET status = 'active', updated_at_ms = max(updated_at_ms + 1, ?2)
             WHERE sub = ?1 AND status = 'suspended' AND updated_at_ms = ?3`,
        )
        .bind(sub, atMs, known.suspendedAtMs),
    ],
    forget: [{ kind: "membership", id: membershipId(orgId, sub) }, ...account(sub)],
  };
}
