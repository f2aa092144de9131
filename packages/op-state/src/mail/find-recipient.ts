import type { CodeMailKind } from "@edge-op/pages/mail/codes";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { WaitingCode } from "./mail-content.ts";

/** The person who has an address, or holds it after another one has replaced it. */
export interface AddressHolder {
  readonly sub: string;
  readonly address: string;
  readonly isActive: boolean;
  readonly isHeld: boolean;
}

/** The recipient of a mail to an address for which a code was requested. */
export interface CodeRecipient {
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

interface HolderRow {
  readonly sub: string;
  readonly address: string;
  readonly status: string;
  readonly held_until_ms: number | null;
}

/** Cost: 1 D1 call. `no response` if D1 does not respond. */
export async function findHolder(
  database: D1Database,
  { to: { key } }: Pick<WaitingCode, "to">,
  atMs: number,
): Promise<AddressHolder | "nobody" | "no response"> {
  const select = database
    .prepare(
      `SELECT a.sub, coalesce(a.address, a.address_key) AS address, a.held_until_ms, u.status FROM user_addresses a JOIN users u ON u.sub = a.sub
         WHERE a.address_key = ?1 AND coalesce(a.held_until_ms, ?2 + 1) > ?2`,
    )
    .bind(key, atMs);
  try {
    const row = await queryDatabase(() => select.first<HolderRow>());
    if (row === null) return "nobody";
    const { sub, address, status, held_until_ms: heldUntilMs } = row;
    return { sub, address, isActive: status === "active", isHeld: heldUntilMs !== null };
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    return "no response";
  }
}
