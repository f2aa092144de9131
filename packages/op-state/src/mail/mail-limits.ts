import type { AccountMail } from "@edge-op/pages/mail/codes";
import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import {
  type AddressFailure,
  type CodeMail,
  noticeKinds,
  type PreparedNotice,
} from "@edge-op/shared/mail/mail-sender-rpc";
import type { AttemptLane } from "@edge-op/shared/sessions/session-rpc";

const hour = 3_600_000;
/** Three at once, then one in five minutes; ten a day. */
const burst = { capacity: 3, drainMs: 300_000 };
const ofDay = { capacity: 10, drainMs: 8_640_000 };
const ofSender = { capacity: 20, drainMs: hour / 20 };
/** Codes for one purpose do not use up the provider's quota for another. */
const ofDeployment = { capacity: 5_000, drainMs: 1_000 };

/**
 * **How many mails are sent to an address.** A person cannot be flooded by a thief of their session, nor a provider's quota be used up by one
 * program: further mails wait. A code was counted when it was requested.
 */
export function sendLimits(kind: AccountMail["kind"], key: string): AttemptLane {
  // One in a week for a person, which must not wait behind others.
  if (kind === "recovery-asked" || !noticeKinds.some((each) => each === kind)) {
    return [{ key: `all mails ${kind}`, limit: ofDeployment }];
  }
  return [
    { key: `mail ${key}`, limit: burst },
    { key: `mails of a day ${key}`, limit: ofDay },
    { key: "all mails", limit: ofDeployment },
  ];
}

/**
 * **How many notices of one kind wait for a person**: as many as an address is sent in a day, so that one person does not fill the outbox of all. A
 * notice that an address needs, because it is given up or can undo the change, is no flood's to displace: a mailed code or an administrator was
 * needed for each.
 */
export function noticeLimits({
  sub,
  kind,
  removed,
  undo,
}: Pick<PreparedNotice, "sub" | "kind" | "removed" | "undo">): AttemptLane {
  const isNeeded = removed !== undefined || undo !== undefined;
  return isNeeded ? [] : [{ key: `notices ${kind} ${sub}`, limit: ofDay }];
}

/**
 * **How many codes are requested for an address, and by a sender.** Addresses that nobody has are counted as all others are. A browser in which a
 * code for the address has succeeded has a limit of its own, and so have codes for sign-ins, which need the password: strangers do not use up the
 * mails of their owner.
 */
export async function codeLimits({
  purpose,
  to: { key },
  sender,
  knownBrowser,
}: Pick<CodeMail, "purpose" | "to" | "sender" | "knownBrowser">): Promise<AttemptLane> {
  const lane = purpose === "sign-in" ? `sign-in ${key}` : key;
  const target = await addressKey(knownBrowser === undefined ? lane : `${knownBrowser} ${lane}`);
  const counted = [
    { key: `code ${target}`, limit: burst },
    { key: `codes of a day ${target}`, limit: ofDay },
  ];
  if (sender === undefined) return counted;
  return [...counted, { key: `codes from ${await addressKey(sender)}`, limit: ofSender }];
}

const dayMs = 86_400_000;
/** A mailbox may exist again. Providers suppress such an address themselves, some for longer. */
const keptMs = 90 * dayMs;
const sweptRows = 500;
const sweepEveryMs = 3_600_000;

/**
 * **Addresses to which no mail is sent**, because mail bounced or its recipient complained. An address is stored as its hash.
 *
 *   failed_addresses(key, kind, until_ms)
 */
export class FailedAddresses {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS failed_addresses (
        key TEXT PRIMARY KEY, kind TEXT NOT NULL, until_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS failed_addresses_ending ON failed_addresses (until_ms);`);
  }

  /** Returns when the rows are to be swept. */
  add(key: string, kind: AddressFailure["kind"], nowMs: number): number {
    this.#sql.exec("INSERT OR REPLACE INTO failed_addresses VALUES (?, ?, ?)", key, kind, nowMs + keptMs);
    return nowMs + keptMs + sweepEveryMs;
  }

  find(key: string, nowMs: number): string | undefined {
    const [row] = this.#sql
      .exec<{ kind: string }>("SELECT kind FROM failed_addresses WHERE key = ? AND until_ms > ?", key, nowMs)
      .toArray();
    return row?.kind;
  }

  /** The alarm's task. Returns when it is next due. */
  sweep(nowMs: number): number | undefined {
    this.#sql.exec(
      `DELETE FROM failed_addresses WHERE key IN
         (SELECT key FROM failed_addresses WHERE until_ms <= ? ORDER BY until_ms LIMIT ?)`,
      nowMs,
      sweptRows,
    );
    const { next } = this.#sql
      .exec<{ next: number | null }>("SELECT min(until_ms) AS next FROM failed_addresses")
      .one();
    if (next === null) return undefined;
    return next <= nowMs ? nowMs : next + sweepEveryMs;
  }
}

/** The whole address in lower case: no two people have addresses that differ in nothing else. */
export async function addressKey(address: string): Promise<string> {
  return encodeBase64Url(await sha256(address.toLowerCase()));
}
