import { readStored } from "@edge-op/protocol/encoding/stored-json";
import type { Settings } from "@edge-op/shared/config/settings";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { mostPasswordCharacters, type PasswordFault } from "@edge-op/shared/secrets/password-policy";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { isAttributeDocument, type UserAttributes } from "@edge-op/shared/users/attributes";
import { judgeNewPassword } from "@edge-op/shared/users/breached-password";
import {
  deleteAddresses,
  insertAddress,
  parseEmailAddress,
  verifiedAddress,
} from "@edge-op/shared/users/user-addresses";
import { requireValues } from "../attributes/attribute-document.ts";
import { type StoredUser, undeclaredName, users } from "./user-table.ts";

type Addressed = Pick<StoredUser, "sub" | "username" | "claims">;

/**
 * **Statements that keep a user's verified address in step with the claims**, to be run with the change of the user. Fails with the change if
 * somebody else has the address, or holds it; or if the username is somebody else's address, which could be taken for that person.
 */
export function keepAddress(
  database: D1Database,
  changed: Addressed,
  known: Addressed | undefined,
): readonly D1PreparedStatement[] {
  const before = known && verifiedAddress(known.claims);
  const after = requireVerifiable(changed.claims);
  const { sub, username } = changed;
  const isChanged = before?.address !== after?.address;
  if (!isChanged && username === known?.username) return [];
  const moved = isChanged ? [deleteAddresses(database, sub)] : [];
  const added = isChanged && after !== undefined ? insertAddress(database, sub, after, nowMs()) : [];
  const isForeign = `EXISTS (SELECT 1 FROM user_addresses WHERE address_key = ?2 AND sub <> ?1)
    OR EXISTS (SELECT 1 FROM users WHERE username_key = ?3 AND sub <> ?1)`;
  const named = parseEmailAddress(username)?.key ?? null;
  return [...moved, ...added, users.refuseIf(database, sub, isForeign, named, after?.key ?? null)];
}

/** The address that a change takes away: it is told too. */
export function removedAddress(changed: Addressed, known: Addressed): string | undefined {
  const before = verifiedAddress(known.claims);
  return before?.key === verifiedAddress(changed.claims)?.key ? undefined : before?.address;
}

function requireVerifiable(claims: StoredUser["claims"]) {
  const address = verifiedAddress(claims);
  if (address !== undefined || claims.email_verified !== true || claims.email === undefined) return address;
  const message =
    "cannot be verified: mail is sent to addresses with an ASCII local part without quotes and a domain, 254 octets at most";
  throw invalidFields([{ path: "claims.email", message }]);
}

/**
 * **Checks the attributes that a request writes**, against the declarations as they are now, and returns the statements that refuse the change if one
 * of them is deleted meanwhile. `written`: what the request names; `all`: what the user then has. Cost: 1 D1 call; none if nothing is written.
 */
export async function keepAttributes(
  database: D1Database,
  sub: string,
  written: UserAttributes,
  all: UserAttributes,
): Promise<readonly D1PreparedStatement[]> {
  const names = Object.keys(written);
  if (names.length === 0) return [];
  const { results } = await queryDatabase(() =>
    database
      .prepare("SELECT name, document FROM attributes WHERE name IN (SELECT value FROM json_each(?1))")
      .bind(JSON.stringify(names))
      .all<{ readonly name: string; readonly document: string }>(),
  );
  const declared = new Map(
    results.map(({ name, document }) => [name, readStored("attribute", document, isAttributeDocument)]),
  );
  requireValues(written, declared, all);
  return [users.refuseIf(database, sub, `EXISTS (${undeclaredName})`, JSON.stringify(written))];
}

/** **Refuses a new password that the policy does not accept**, with the reason. Cost: that of breached-password.ts. */
export async function requireAcceptablePassword(
  context: RequestContext<unknown>,
  { username, claims: { email } }: Pick<StoredUser, "username" | "claims">,
  password: string,
): Promise<void> {
  const fault = await judgeNewPassword(context, password, { username, email });
  if (fault !== undefined) throw invalidFields([{ path: "password", message: describe(fault, context.settings) }]);
}

function describe(fault: PasswordFault, { passwordMin }: Settings): string {
  const texts: Readonly<Record<PasswordFault, string>> = {
    malformed: "must be Unicode text",
    tooShort: `must be at least ${passwordMin} characters long`,
    tooLong: `must be at most ${mostPasswordCharacters} characters long`,
    common: "is a commonly used password",
    personal: "consists of little more than the username, the email address or the name of this service",
    breached: "is among the passwords of data breaches",
    simple: "consists of little more than repeated or consecutive characters",
  };
  return texts[fault];
}
