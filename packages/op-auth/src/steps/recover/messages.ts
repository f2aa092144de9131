import type { Catalog } from "@edge-op/pages/translator";

const en = {
  title: "Forgot your password?",
  text: "Enter the email address of your account. You receive a code by mail, and then choose a new password.",
} as const;

/** **Texts of the page for a person who forgot their password.** */
export const recoverMessages: Catalog<keyof typeof en> = {
  en,
  de: {
    title: "Passwort vergessen?",
    text: "Geben Sie die E-Mail-Adresse Ihres Kontos ein. Sie erhalten einen Code und wählen dann ein neues Passwort.",
  },
};
