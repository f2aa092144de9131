import type { Catalog } from "@edge-op/pages/translator";

const en = {
  address: "Email address",
  send: "Send a code",
  codeTitle: "Enter the code",
  sentRecover: "If there is an account with {address}, it has been sent a code of eight digits.",
  sent: "{address} has been sent a code of eight digits.",
  sentHint: "It may take a minute. If there is no mail, look in the spam folder.",
  code: "Code",
  submit: "Continue",
  again: "Send another code",
  other: "Use another address",
  invalidAddress: "That is not an email address that mail can be sent to. Check it.",
  wrong: "That code is not correct. Enter the code of the newest mail.",
  expired: "That code has expired. Ask for another one.",
  over: "There were too many wrong codes, or this one was used. Start again.",
  restart: "Start again",
  throttled: "Too many codes were requested. Wait {wait} and then try again.",
} as const;

export type MailedCodeText = keyof typeof en;

/** **Texts of mailed codes and addresses.** */
export const mailedCodeMessages: Catalog<MailedCodeText> = {
  en,
  de: {
    address: "E-Mail-Adresse",
    send: "Code senden",
    codeTitle: "Code eingeben",
    sentRecover: "Wenn es ein Konto mit {address} gibt, wurde dorthin ein achtstelliger Code gesendet.",
    sent: "An {address} wurde ein achtstelliger Code gesendet.",
    sentHint: "Das kann eine Minute dauern. Wenn keine E-Mail kommt, sehen Sie im Spam-Ordner nach.",
    code: "Code",
    submit: "Weiter",
    again: "Neuen Code senden",
    other: "Andere Adresse verwenden",
    invalidAddress: "An diese E-Mail-Adresse kann nichts gesendet werden. Bitte prüfen Sie sie.",
    wrong: "Dieser Code ist nicht richtig. Geben Sie den Code aus der neuesten E-Mail ein.",
    expired: "Dieser Code ist abgelaufen. Fordern Sie einen neuen an.",
    over: "Es gab zu viele falsche Codes, oder dieser wurde schon benutzt. Beginnen Sie von vorn.",
    restart: "Von vorn beginnen",
    throttled: "Es wurden zu viele Codes angefordert. Warten Sie {wait} und versuchen Sie es dann erneut.",
  },
};

const newBrowserEn = {
  text: "You have not signed in in this browser before.",
} as const;

/** **Texts of the page for the code of a new browser**, beside those of mailed codes. */
export const confirmBrowserMessages: Catalog<keyof typeof newBrowserEn> = {
  en: newBrowserEn,
  de: { text: "In diesem Browser haben Sie sich noch nicht angemeldet." },
};

const recoverEn = {
  title: "Forgot your password?",
  text: "Enter the email address of your account. You receive a code by mail, and then choose a new password.",
} as const;

/** **Texts of the page for a person who forgot their password.** */
export const recoverMessages: Catalog<keyof typeof recoverEn> = {
  en: recoverEn,
  de: {
    title: "Passwort vergessen?",
    text: "Geben Sie die E-Mail-Adresse Ihres Kontos ein. Sie erhalten einen Code und wählen dann ein neues Passwort.",
  },
};
