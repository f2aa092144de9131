import type { Catalog } from "@edge-op/pages/translator";
import { type MessageKey, messages } from "../pages/messages.ts";

const en = {
  "signIn.to": "to continue to {client}",
  "signIn.toProvider": "to your {provider} account",
  "signIn.changed": "Your account was changed while you signed in. Wait a moment, then sign in again.",
  "signIn.again": "Confirm it is you",
  "signIn.againPrompt": "{client} requires you to sign in again.",
  "signIn.againMaxAge": "{client} requires a recent sign-in.",
  "signIn.againAccount": "This change requires a recent sign-in.",
  "signIn.forgot": "Forgot your password?",
  "signIn.other": "Use another account",
  "flow.spent": "You are already signed in",
  "flow.spentText": "This page was already used. Continue on the page that it opened.",
} as const;

const de: Readonly<Record<keyof typeof en, string>> = {
  "signIn.to": "um mit {client} fortzufahren",
  "signIn.toProvider": "bei Ihrem Konto ({provider})",
  "signIn.changed":
    "Ihr Konto wurde geändert, während Sie sich angemeldet haben. Warten Sie einen Moment und melden Sie sich dann erneut an.",
  "signIn.again": "Bestätigen Sie, dass Sie es sind",
  "signIn.againPrompt": "{client} verlangt, dass Sie sich erneut anmelden.",
  "signIn.againMaxAge": "{client} verlangt eine aktuelle Anmeldung.",
  "signIn.againAccount": "Diese Änderung verlangt eine aktuelle Anmeldung.",
  "signIn.forgot": "Passwort vergessen?",
  "signIn.other": "Anderes Konto verwenden",
  "flow.spent": "Sie sind bereits angemeldet",
  "flow.spentText": "Diese Seite wurde schon benutzt. Machen Sie dort weiter, wohin sie geführt hat.",
};

export type SignInPageText = keyof typeof en | MessageKey;

/** **Texts of the sign-in page and of the page of a flow that is over**, with those that several pages share. */
export const signInMessages: Catalog<SignInPageText> = { en: { ...messages.en, ...en }, de: { ...messages.de, ...de } };

const selectEn = {
  "select.title": "Choose an account",
  "select.to": "to continue to {client}",
  "select.continue": "Continue as {user}",
  "select.other": "Use another account",
} as const;

const selectDe: Readonly<Record<keyof typeof selectEn, string>> = {
  "select.title": "Konto auswählen",
  "select.to": "um mit {client} fortzufahren",
  "select.continue": "Weiter als {user}",
  "select.other": "Anderes Konto verwenden",
};

export type SelectAccountText = keyof typeof selectEn | MessageKey;

/** **Texts of the account selection**, with those that several pages share. */
export const selectAccountMessages: Catalog<SelectAccountText> = {
  en: { ...messages.en, ...selectEn },
  de: { ...messages.de, ...selectDe },
};

const restoreEn = {
  title: "Keep your account?",
  text: "You have asked to delete this account. To sign in, keep it: everything is still there, but applications must sign you in again. If you do nothing, it is deleted as you asked.",
  keep: "Keep the account",
  cancel: "Leave it as it is",
} as const;

/** **Texts of the step that keeps an account.** */
export const restoreMessages: Catalog<keyof typeof restoreEn> = {
  en: restoreEn,
  de: {
    title: "Konto behalten?",
    text: "Sie haben verlangt, dieses Konto zu löschen. Um sich anzumelden, behalten Sie es: Alles ist noch da, aber Anwendungen müssen Sie erneut anmelden. Wenn Sie nichts tun, wird es wie verlangt gelöscht.",
    keep: "Konto behalten",
    cancel: "Dabei belassen",
  },
};
