import type { Catalog } from "@edge-op/pages/translator";
import { type MessageKey, messages } from "../../pages/messages.ts";

const en = {
  "select.title": "Choose an account",
  "select.to": "to continue to {client}",
  "select.continue": "Continue as {user}",
  "select.other": "Use another account",
} as const;

const de: Readonly<Record<keyof typeof en, string>> = {
  "select.title": "Konto auswählen",
  "select.to": "um mit {client} fortzufahren",
  "select.continue": "Weiter als {user}",
  "select.other": "Anderes Konto verwenden",
};

export type SelectAccountText = keyof typeof en | MessageKey;

/** **Texts of the account selection**, with those that several pages share. */
export const selectAccountMessages: Catalog<SelectAccountText> = {
  en: { ...messages.en, ...en },
  de: { ...messages.de, ...de },
};
