import type { Catalog } from "@edge-op/pages/translator";

const en = {
  resetTitle: "Set a new password",
  resetText: "An administrator has sent you this link. You choose a new password on the next page.",
  resetSubmit: "Continue",
  resetGone: "This link has expired or was used. Ask your administrator for another one.",
  toAccount: "Go to your account",
} as const;

/** **Texts of the page of an administrator's reset.** */
export const resetMessages: Catalog<keyof typeof en> = {
  en,
  de: {
    resetTitle: "Neues Passwort festlegen",
    resetText:
      "Ein Administrator hat Ihnen diesen Link gesendet. Auf der nächsten Seite wählen Sie ein neues Passwort.",
    resetSubmit: "Weiter",
    resetGone: "Dieser Link ist abgelaufen oder wurde schon benutzt. Bitten Sie Ihren Administrator um einen neuen.",
    toAccount: "Zu Ihrem Konto",
  },
};
