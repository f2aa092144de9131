import { peopleOf } from "../storage/people.ts";
import { queryDatabase } from "../storage/query-database.ts";
import type { UserClaims } from "./user.ts";

/** **An e-mail address that mail can be sent to**, in the form in which addresses are compared and in the one in which mail is sent. */
export interface EmailAddress {
  /** Lower case, with the domain as A-label: equal for all spellings of an address. */
  readonly key: string;
  /** As it was given, with the domain as A-label. */
  readonly address: string;
}

/** RFC 5321 §4.5.3.1.3: 256 octets with the angle brackets. */
const longestAddress = 254;
/** RFC 5321 §4.5.3.1.1 */
const longestLocalPart = 64;
/** RFC 5321 §4.1.2 `Dot-string`, without RFC 6531's other characters: two of them may look the same. */
const localPart = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i;
const domainText = /^[\p{L}\p{M}\p{N}.-]+$/u;
/** At least two labels, the last of which is no number: an address literal is no domain. */
const domainName = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?!\d+$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

/**
 * Reads an address; `undefined` for text that is none, and for quoted local parts, address literals and local parts that are not ASCII. Dots and `+`
 * are kept: what they mean is known to the receiver alone. Pure.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5321#section-4.1.2
 * @see https://www.rfc-editor.org/rfc/rfc5891#section-4
 */
export function parseEmailAddress(text: string): EmailAddress | undefined {
  const [local = "", unicodeDomain = "", ...rest] = text.trim().normalize("NFC").split("@");
  if (rest.length > 0 || local.length > longestLocalPart || !localPart.test(local)) return undefined;
  const domain = toAsciiDomain(unicodeDomain);
  if (domain === undefined) return undefined;
  const address = `${local}@${domain}`;
  return address.length > longestAddress ? undefined : { key: address.toLowerCase(), address };
}

function toAsciiDomain(domain: string): string | undefined {
  if (!domainText.test(domain) || !URL.canParse(`http://${domain}`)) return undefined;
  const ascii = new URL(`http://${domain}`).hostname;
  return domainName.test(ascii) ? ascii : undefined;
}

/** **A verified address of a person.** `sub` is the one person who has it. */
export interface UserAddress extends EmailAddress {
  readonly sub: string;
  readonly verifiedAtMs: number;
  /** It was replaced by another one, and can be taken back until then. It finds nobody, and nobody else can verify it. */
  readonly heldUntilMs: number | undefined;
}

interface AddressRow {
  readonly address_key: string;
  readonly sub: string;
  readonly address: string | null;
  readonly verified_at_ms: number;
  readonly held_until_ms: number | null;
}

function toUserAddress(row: AddressRow): UserAddress {
  const { address_key: key, sub, address, verified_at_ms: verifiedAtMs, held_until_ms: heldUntilMs } = row;
  return { key, sub, address: address ?? key, verifiedAtMs, heldUntilMs: heldUntilMs ?? undefined };
}

/** The address of the claims, if it is verified and can be sent to. */
export function verifiedAddress({ email, email_verified: isVerified }: UserClaims): EmailAddress | undefined {
  return email !== undefined && isVerified === true ? parseEmailAddress(email) : undefined;
}

/** The row of an address, held or not. Cost: 1 D1 call. */
async function findAddress(database: D1Database, key: string): Promise<UserAddress | undefined> {
  const row = await queryDatabase(() =>
    peopleOf(database).prepare("SELECT * FROM user_addresses WHERE address_key = ?1").bind(key).first<AddressRow>(),
  );
  return row === null ? undefined : toUserAddress(row);
}

/** The addresses of a person, held ones last. Cost: 1 D1 call. */
export async function listAddresses(database: D1Database, sub: string): Promise<UserAddress[]> {
  const { results } = await queryDatabase(() =>
    peopleOf(database)
      .prepare("SELECT * FROM user_addresses WHERE sub = ?1 ORDER BY held_until_ms IS NOT NULL, verified_at_ms")
      .bind(sub)
      .all<AddressRow>(),
  );
  return results.map(toUserAddress);
}

/**
 * Statements that give a person a verified address. The insertion fails, together with its transaction, if somebody else has the address or holds it:
 * an address has one person. Without such a person nothing is inserted. For a change in which the person already has it, see
 * `packages/op-auth/src/account/commit-address.ts`.
 */
export function insertAddress(
  database: D1Database,
  sub: string,
  { key, address }: EmailAddress,
  atMs: number,
): D1PreparedStatement[] {
  return [
    peopleOf(database)
      .prepare("DELETE FROM user_addresses WHERE address_key = ?1 AND held_until_ms <= ?2")
      .bind(key, atMs),
    peopleOf(database)
      .prepare(
        `INSERT INTO user_addresses (address_key, sub, address, verified_at_ms)
           SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM users WHERE sub = ?2)`,
      )
      .bind(key, sub, storedSpelling({ key, address }), atMs),
  ];
}

/** NULL for the usual spelling, the key itself. */
export function storedSpelling({ key, address }: EmailAddress): string | null {
  return address === key ? null : address;
}

/** Removes all addresses of a person, held ones too. */
export function deleteAddresses(database: D1Database, sub: string): D1PreparedStatement {
  return peopleOf(database).prepare("DELETE FROM user_addresses WHERE sub = ?1").bind(sub);
}

/** Whether somebody else has or holds an address. Cost: 1 D1 call; 0 without a key. */
export async function isAddressTaken(
  database: D1Database,
  { sub, key }: { readonly sub: string; readonly key: string | undefined },
  atMs: number,
): Promise<boolean> {
  const found = key === undefined ? undefined : await findAddress(database, key);
  return found !== undefined && found.sub !== sub && (found.heldUntilMs ?? atMs + 1) > atMs;
}
