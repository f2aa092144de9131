import type { AccountMail, CodeMailKind } from "@edge-op/pages/mail/codes";
import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { isNumber, isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { type BrandingRecord, readBrandingRecord } from "@edge-op/shared/config/branding-record";
import type { CodeMail, PreparedNotice } from "@edge-op/shared/mail/mail-sender-rpc";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { openSealed, sealText } from "@edge-op/shared/secrets/seal";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";

/** For a person, before the addresses are known. */
export type PersonMail = Omit<PreparedNotice, "id"> & { readonly type: "notice" };
/** For an address, before it is known whose it is. */
export type WaitingCode = Pick<CodeMail, "purpose" | "to" | "code" | "atMs" | "sub" | "locale" | "asker"> & {
  readonly type: "code";
};
/** A mail that waits for its recipients. */
type WaitingMail = PersonMail | WaitingCode;

/** `branding`: the record in force when its recipients were looked up; the settings without one. */
export type AddressedMail = AccountMail & { readonly to: string; readonly branding?: BrandingRecord | undefined };

const isPersonMail = objectOf<PersonMail>({
  type: isText,
  sub: isText,
  kind: isText,
  atMs: isNumber,
  evidence: objectOf<PersonMail["evidence"]>({ action: isText, target: isText, requestId: isText }),
});
const isWaitingCode = objectOf<WaitingCode>({
  type: isText,
  purpose: isText,
  to: objectOf<WaitingCode["to"]>({ key: isText, address: isText }),
  code: isText,
  atMs: isNumber,
  locale: isText,
});
const isWaitingMail = (value: unknown): value is WaitingMail =>
  isJsonObject(value) && (value["type"] === "code" ? isWaitingCode(value) : isPersonMail(value));
const isAddressedMail = objectOf<AddressedMail>({ to: isText, kind: isText, atMs: isNumber });

/** **The content of a mail while it waits**: sealed, and bound to the mail's id, so a content opens only in its own row. */
export function sealMail(env: MasterKeyBindings, id: string, content: WaitingMail | AddressedMail): Promise<string> {
  return sealText(env, "mail-seal", JSON.stringify(content), { bound: id });
}

/** `undefined` after a master key was lost. */
export async function openWaitingMail(
  env: MasterKeyBindings,
  id: string,
  sealed: string,
): Promise<WaitingMail | undefined> {
  const text = await openSealed(env, "mail-seal", sealed, id);
  return text === undefined ? undefined : readStored("waiting mail", text, isWaitingMail);
}

export async function openAddressedMail(
  env: MasterKeyBindings,
  id: string,
  sealed: string,
): Promise<AddressedMail | undefined> {
  const text = await openSealed(env, "mail-seal", sealed, id);
  return text === undefined ? undefined : readStored("mail for an address", text, isAddressedMail);
}

/** The person who has an address, or holds it after another one has replaced it. */
export interface AddressHolder {
  readonly sub: string;
  readonly address: string;
  readonly isActive: boolean;
  readonly isHeld: boolean;
  readonly zoneinfo?: string | undefined;
}

/** The recipient of a mail to an address for which a code was requested. */
interface CodeRecipient {
  readonly to: string;
  readonly kind: CodeMailKind;
}

/**
 * **Whether a code is mailed, and what else is written to the address instead.** Pure. The page that requested it says the same in each case. A new
 * password is mailed to the address as it is stored, of a person who may sign in; somebody without an account gets no mail.
 */
export function decideRecipient(
  { purpose, to, sub }: Pick<WaitingCode, "purpose" | "to" | "sub">,
  holder: AddressHolder | undefined,
): CodeRecipient | undefined {
  const isOther = holder !== undefined && holder.sub !== sub;
  switch (purpose) {
    case "recover":
    case "sign-in":
      return holder?.isActive && !holder.isHeld ? { to: holder.address, kind: purpose } : undefined;
    case "address":
      return isOther ? { to: holder.address, kind: "address-in-use" } : { to: to.address, kind: "address" };
    case "sign-up":
      if (holder === undefined) return { to: to.address, kind: "sign-up" };
      return { to: holder.address, kind: holder.isHeld ? "address-in-use" : "account-exists" };
  }
}

/** The branding in force: it is read with what a mail reads anyway. */
export const selectBranding = "(SELECT document FROM branding WHERE id = 'current') AS branding";

/** Its logos as data are left out: programs for mail do not show them. */
export function readMailBranding(document: string | null | undefined): BrandingRecord | undefined {
  if (!document) return undefined;
  const entries = Object.entries(readBrandingRecord(document));
  return Object.fromEntries(entries.filter(([, value]) => !(typeof value === "string" && value.startsWith("data:"))));
}

interface HolderRow {
  readonly branding: string | null;
  readonly sub: string | null;
  readonly address: string;
  readonly status: string;
  readonly zoneinfo: string | null;
  readonly held_until_ms: number | null;
}

interface FoundHolder {
  /** `undefined`: nobody. */
  readonly holder: AddressHolder | undefined;
  readonly branding: BrandingRecord | undefined;
}

/** Cost: 1 D1 call. `no response` if D1 does not respond. */
export async function findHolder(
  database: D1Database,
  { to: { key } }: Pick<WaitingCode, "to">,
  atMs: number,
): Promise<FoundHolder | "no response"> {
  const select = peopleOf(database)
    .prepare(
      `SELECT ${selectBranding}, h.* FROM (SELECT 1) LEFT JOIN (
         SELECT a.sub, coalesce(a.address, a.address_key) AS address, a.held_until_ms, u.status, u.claims ->> 'zoneinfo' AS zoneinfo
           FROM user_addresses a JOIN users u ON u.sub = a.sub
           WHERE a.address_key = ?1 AND coalesce(a.held_until_ms, ?2 + 1) > ?2) AS h`,
    )
    .bind(key, atMs);
  try {
    const row = await queryDatabase(() => select.first<HolderRow>());
    const branding = readMailBranding(row?.branding);
    if (row === null || row.sub === null) return { holder: undefined, branding };
    const { sub, address, status, zoneinfo, held_until_ms: heldUntilMs } = row;
    const isHeld = heldUntilMs !== null;
    return {
      holder: { sub, address, isActive: status === "active", isHeld, zoneinfo: zoneinfo ?? undefined },
      branding,
    };
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    return "no response";
  }
}
