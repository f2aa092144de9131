import { invalidFields } from "@edge-op/shared/http/require-valid";
import { nowMs } from "@edge-op/shared/runtime/clock";
import {
  deleteAddresses,
  insertAddress,
  parseEmailAddress,
  verifiedAddress,
} from "@edge-op/shared/users/user-addresses";
import { type StoredUser, users } from "./user-table.ts";

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
