import type { FactsRpc } from "../config/deployment-facts.ts";

/** The name of the one `MailSender`. */
export const mailSenderName = "mail";

/** **Changes of an account that its person is told of** (NIST SP 800-63B-4 §4.6). */
export const noticeKinds = [
  "password-changed",
  "password-set-by-administrator",
  "password-removed-by-administrator",
  "passkey-added",
  "passkey-removed",
  "app-added",
  "app-removed",
  "recovery-codes-made",
  "recovery-codes-removed",
  "recovery-code-used",
  "identity-linked",
  "identity-unlinked",
  "factor-removed-by-administrator",
  "access-ended-by-administrator",
] as const;

export type NoticeKind = (typeof noticeKinds)[number];

/** The row of `admin_events` that is written in the transaction of the change. */
export interface ChangeEvidence {
  readonly action: string;
  readonly target: string;
  readonly requestId: string;
}

/** A mail before its change is committed. */
export interface PreparedNotice {
  /** Chosen by the caller, unique. */
  readonly id: string;
  readonly sub: string;
  readonly kind: NoticeKind;
  readonly atMs: number;
  readonly evidence: ChangeEvidence;
}

/** An address to which mail cannot be delivered, or whose person called a mail unwanted. */
export interface AddressFailure {
  readonly address: string;
  readonly kind: "bounced" | "complained";
}

export interface MailStatus {
  /** Mails that wait, those included whose change is not known to be committed. */
  readonly waiting: number;
  /** Mails that the provider did not accept yet, … */
  readonly refused: number;
  /** … and when the oldest of them was made. */
  readonly refusedSinceMs: number | undefined;
}

/**
 * **The RPC interface of `MailSender`**, one object. It sends mails by alarms, so no request waits for a provider of mail. Times are epoch milliseconds.
 */
export interface MailSenderRpc extends FactsRpc {
  /**
   * Call before the commit of the change. Returns false if too many mails wait. Idempotent by id. Without {@link release} the object looks for the
   * evidence itself, so a mail is sent if and only if its change was committed.
   */
  prepare(notice: PreparedNotice): Promise<boolean>;
  /** The change is committed. */
  release(id: string): Promise<void>;
  /** No mail is sent to the address for some months. */
  recordFailures(failures: readonly AddressFailure[]): Promise<void>;
  status(): Promise<MailStatus>;
}
