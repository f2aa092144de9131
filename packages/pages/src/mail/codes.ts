import { type CodePurpose, mailedCodeMs } from "@edge-op/shared/mail/mail-sender-rpc";
import type { MailKey, MailTranslator } from "./messages.ts";
import type { MailBlock, MailContent, MailFrame } from "./render-mail.ts";

/**
 * `account-exists`: a code for a new account, to somebody who has one. `address-in-use`: the address belongs to another account, and gets no code.
 */
export type CodeMailKind = CodePurpose | "account-exists" | "address-in-use";

export interface CodeData {
  readonly kind: CodeMailKind;
  /** Absent for `address-in-use`. */
  readonly code?: string | undefined;
  readonly atMs: number;
  readonly locale?: string | undefined;
}

const titles = {
  recover: "mail.codeRecover",
  address: "mail.codeAddress",
  "sign-up": "mail.codeSignUp",
  "sign-in": "mail.codeSignIn",
  "account-exists": "mail.accountExists",
  "address-in-use": "mail.addressInUse",
} as const satisfies Readonly<Record<CodeMailKind, MailKey>>;

const explanations = {
  recover: "mail.codeRecoverText",
  address: "mail.codeAddressText",
  "sign-up": "mail.codeSignUpText",
  "sign-in": "mail.codeSignInText",
  "account-exists": "mail.accountExistsText",
  "address-in-use": "mail.addressInUseText",
} as const satisfies Readonly<Record<CodeMailKind, MailKey>>;

export const codeMailKinds = Object.keys(titles) as readonly CodeMailKind[];

/**
 * **A mailed code.** It is typed into the page on which it was requested: there is no link that a program which reads mails could open. It contains
 * no text of anyone, and the subject does not contain the code.
 */
export function describeCode({ kind, code }: CodeData, t: MailTranslator, { branding }: MailFrame): MailContent {
  const values = { name: branding.name, minutes: mailedCodeMs / 60_000 };
  const paragraph = (text: string): MailBlock => ({ kind: "paragraph", text });
  const shown: readonly MailBlock[] =
    code === undefined
      ? []
      : [{ kind: "code", text: `${code.slice(0, 4)} ${code.slice(4)}` }, paragraph(t("mail.codeUse", values))];
  return {
    subject: t(titles[kind]),
    blocks: [
      paragraph(t(explanations[kind], values)),
      ...shown,
      paragraph(t(kind === "sign-in" ? "mail.codeSignInNotYou" : "mail.codeNotYou")),
    ],
  };
}
