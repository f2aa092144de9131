import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import type { ControlChange } from "@edge-op/shared/control/commit-control-change";
import { membershipId } from "@edge-op/shared/cut-offs/cut-offs";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { longestMemberSub, mostMemberships } from "@edge-op/shared/users/organizations";
import { retiredHash } from "@edge-op/shared/users/retired-subs";
import { makeWordsOf } from "@edge-op/shared/users/search-index";
import { type EmailAddress, parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import { findMember, insertMember } from "../organizations/member-store.ts";
import { domainOf, isVerifiedDomain, whereDomainVerified } from "../organizations/organization-domains.ts";
import { keepAddress } from "../users/user-rules.ts";
import { isUsernameTaken, refuseTakenSub, type StoredUser } from "../users/user-table.ts";
import type { DirectoryUser } from "./directory-store.ts";
import type { ScimCall } from "./resources.ts";
import { type Document, primaryEmail } from "./schema.ts";

/** What a user of the directory is connected to, with the statements that follow its row. */
export interface Link {
  readonly sub: string;
  readonly statements: readonly D1PreparedStatement[];
  /** Copies that lack the roles of groups. */
  readonly forget: readonly ControlChange[];
  /** An account that does not exist yet. */
  readonly account?: StoredUser;
}

/**
 * **S2: whom a user of a directory is.** Only an address of a domain that is verified for this organisation connects: to the one account that has
 * verified it, or, if nobody has it, to a new account without credentials. Everything else is pending, and gives nothing. The transaction fails if
 * the domain or the address is lost meanwhile. Cost: 1 D1 call for a foreign domain, otherwise 3 to 5.
 */
export async function findLink(call: ScimCall, user: DirectoryUser, atMs: number): Promise<Link | undefined> {
  const { context, store } = call;
  const { DB } = context.env;
  const { orgId } = store;
  const userName = user.document["userName"];
  const address = parseEmailAddress(primaryEmail(user.document) ?? (typeof userName === "string" ? userName : ""));
  if (address === undefined) return undefined;
  if (!(await isVerifiedDomain(DB, orgId, address))) return undefined;
  const domain = domainOf(address);
  const holder = await findHolder(DB, orgId, user.scimId, address);
  if (holder === undefined) return newAccount(call, user, address, domain, atMs);
  const { sub, canJoin } = holder;
  if (!canJoin || sub.length > longestMemberSub) return undefined;
  const member = await findMember(DB, orgId, sub);
  const isLost = `NOT ${whereDomainVerified("?1", "?3")} OR NOT EXISTS (SELECT 1 FROM user_addresses WHERE address_key = ?4 AND sub = ?5 AND held_until_ms IS NULL)`;
  return {
    sub,
    forget: member === undefined ? [] : [{ kind: "membership", id: membershipId(orgId, sub) }],
    statements: [
      ...(member === undefined
        ? insertMember(DB, { sub, orgId, status: "active", roles: [], atMs, source: "scim" })
        : []),
      store.refuseUserIf(user.scimId, isLost, domain, address.key, sub),
    ],
  };
}

/** The account that has the address; one that only holds it, or that another user of this directory is, cannot join. */
async function findHolder(database: D1Database, orgId: string, scimId: string, { key }: EmailAddress) {
  const statement = peopleOf(database)
    .prepare(
      `SELECT a.sub, a.held_until_ms IS NULL
            AND NOT EXISTS (SELECT 1 FROM scim_users s WHERE s.sub = a.sub AND s.org_id = ?2 AND s.scim_id <> ?3)
            AND (SELECT count(*) FROM memberships m WHERE m.sub = a.sub) < ${mostMemberships} AS can_join
         FROM user_addresses a WHERE a.address_key = ?1`,
    )
    .bind(key, orgId, scimId);
  const row = await queryDatabase(() => statement.first<{ readonly sub: string; readonly can_join: number }>());
  return row === null ? undefined : { sub: row.sub, canJoin: row.can_join === 1 };
}

async function newAccount(
  { context, store }: ScimCall,
  { scimId, document }: DirectoryUser,
  { address }: EmailAddress,
  domain: string,
  atMs: number,
): Promise<Link | undefined> {
  const { env } = context;
  const { orgId } = store;
  // Somebody else's username: it stays theirs.
  if (await isUsernameTaken(env.DB, address, "")) return undefined;
  const sub = `u${randomBase64Url(16)}`;
  const account: StoredUser = {
    ...{ sub, username: address, status: "active", roles: [], groups: [], attributes: {}, hasPassword: false },
    claims: { updated_at: toSeconds(atMs), ...namesOf(document), email: address, email_verified: true },
    ...{ deletesAtMs: undefined, termsVersion: undefined, termsAcceptedAtMs: undefined },
    ...{ createdAtMs: atMs, updatedAtMs: atMs },
  };
  return {
    sub,
    account,
    forget: [],
    statements: [
      refuseTakenSub(env.DB, sub, await retiredHash(env, sub)),
      ...makeWordsOf(env.DB, account),
      ...keepAddress(env.DB, account, undefined),
      ...insertMember(env.DB, { sub, orgId, status: "active", roles: [], atMs, source: "scim" }),
      store.refuseUserIf(scimId, `NOT ${whereDomainVerified("?1", "?3")}`, domain),
    ],
  };
}

/** The claims of a new account; later changes stay in the directory's document. */
function namesOf(document: Document) {
  const name = (document["name"] ?? {}) as Document;
  const claims = {
    name: document["displayName"] ?? name["formatted"],
    given_name: name["givenName"],
    family_name: name["familyName"],
  };
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => typeof value === "string"));
}
