import type { Catalog } from "@edge-op/pages/translator";

const en = {
  title: "Keep your account?",
  text: "You have asked to delete this account. To sign in, keep it: everything is still there, but applications must sign you in again. If you do nothing, it is deleted as you asked.",
  keep: "Keep the account",
  cancel: "Leave it as it is",
} as const;

/** **Texts of the step that keeps an account.** */
export const restoreMessages: Catalog<keyof typeof en> = {
  en,
  de: {
    title: "Konto behalten?",
    text: "Sie haben verlangt, dieses Konto zu löschen. Um sich anzumelden, behalten Sie es: Alles ist noch da, aber Anwendungen müssen Sie erneut anmelden. Wenn Sie nichts tun, wird es wie verlangt gelöscht.",
    keep: "Konto behalten",
    cancel: "Dabei belassen",
  },
};
