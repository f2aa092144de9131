import type { Asker } from "../http/asker.ts";
import type { FactsRpc } from "../secrets/deployment-facts.ts";
import type { EmailAddress } from "../users/user-addresses.ts";

/** The name of the one `MailSender`. */
export const mailSenderName = "mail";

/** **Changes of an account that its person is told of** (NIST SP 800-63B-4 §4.6). */
export const noticeKinds = [
  "password-changed",
  "password-set-by-administrator",
  "password-removed-by-administrator",
  "reset-link-by-administrator",
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
  "address-changed",
  "address-added",
  "address-removed",
  "address-changed-by-administrator",
  "data-downloaded",
  "deletion-asked",
  "deletion-near",
  "deletion-done",
  "account-restored",
  "new-browser",
  "recovery-asked",
  "recovery-stopped",
  "invitation",
] as const;

export type NoticeKind = (typeof noticeKinds)[number];

/** The row of `admin_events` that is written in the transaction of the change. */
export interface ChangeEvidence {
  readonly action: string;
  readonly target: string;
  readonly requestId: string;
}

/**
 * Something that was added to an account: a row, and so what its link takes back. The id of an identity is the JSON list of its provider, issuer and
 * subject.
 */
export interface TakenBack {
  readonly kind: "address" | "totp" | "passkey" | "recovery_codes" | "identity";
  readonly id: string;
}

/** A mail before its change is committed. */
export interface PreparedNotice {
  /** Chosen by the caller, unique. */
  readonly id: string;
  readonly sub: string;
  readonly kind: NoticeKind;
  readonly atMs: number;
  readonly evidence: ChangeEvidence;
  /** An address that the person loses by the change, which is told too; or one that is invited, by a notice about nobody. */
  readonly removed?: string | undefined;
  /**
   * For the address that another one replaces: a page of this provider that undoes the change. For an invited one: the page of the invitation. For
   * the main one: the page of a reset. Without an address, for all of them: the page that stops what was asked for.
   */
  readonly undo?: { readonly address?: string; readonly path: string } | undefined;
  /** What was added. The oldest address of the person is sent a link that takes it back. */
  readonly takesBack?: TakenBack | undefined;
  /** The language of a notice about nobody. */
  readonly locale?: string | undefined;
  /** The browser of the person. Absent for what an administrator or the provider did, and in notices of the previous release. */
  readonly asker?: Asker | undefined;
  /** An administrator made the change, whatever its kind. */
  readonly isByAdministrator?: boolean | undefined;
}

/** How long a mailed code is accepted. */
export const mailedCodeMs = 10 * 60_000;

/**
 * **The purpose of a mailed code**: a new password, an address of an account, a new account, a sign-in in a new browser. A code for one is refused
 * for another.
 */
export const codePurposes = ["recover", "address", "sign-up", "sign-in"] as const;
export type CodePurpose = (typeof codePurposes)[number];

/** A code to be mailed. Whether it is, and what else is written to the address, `MailSender` decides when nobody waits for it. */
export interface CodeMail {
  /** Chosen by the caller, unique. */
  readonly id: string;
  readonly purpose: CodePurpose;
  readonly to: EmailAddress;
  readonly code: string;
  readonly atMs: number;
  /** For the purpose `address`: the person whose address it will be. */
  readonly sub?: string | undefined;
  /** The language of the page. */
  readonly locale: string;
  /** The browser in which the code was requested. Absent in codes of the previous release. */
  readonly asker?: Asker | undefined;
  /** The network address of the request, if it is known. */
  readonly sender: string | undefined;
  /** A browser in which a code for this address has succeeded has limits of its own. */
  readonly knownBrowser: string | undefined;
}

/** `full`: too many mails wait. */
export type CodeMailResult =
  | { readonly kind: "queued" }
  | { readonly kind: "full" }
  | { readonly kind: "throttled"; readonly retryAfterMs: number };

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
 * **The RPC interface of `MailSender`**, one object. It sends mails by alarms, so no request waits for a provider of mail. Times are epoch
 * milliseconds.
 */
export interface MailSenderRpc extends FactsRpc {
  /**
   * Call before the commit of the change. Returns false if too many mails wait. Idempotent by id. Without {@link release} the object looks for the
   * evidence itself, so a mail is sent if and only if its change was committed.
   */
  prepare(notice: PreparedNotice): Promise<boolean>;
  /** The change is committed. */
  release(id: string): Promise<void>;
  /**
   * Mails a code if the address may get it: three at once, then one in five minutes, ten a day; a sender twenty an hour. Counts before it knows
   * anything of the address.
   */
  sendCode(mail: CodeMail): Promise<CodeMailResult>;
  /** No mail is sent to the address for some months. */
  recordFailures(failures: readonly AddressFailure[]): Promise<void>;
  status(): Promise<MailStatus>;
}
