import type { Catalog } from "@edge-op/pages/translator";

const en = {
  confirmed: "confirmed {date}",
  primary: "Make main",
  remove: "Remove",
  add: "Add another address",
  addText:
    "A code is sent to the address, to confirm that it is yours. You can then use the address to set a new password if you forget yours, and it receives mails about changes to your account.",
  primaryTitle: "Make this your main address?",
  primaryText: "Applications see {address} from then on. Your other addresses are kept.",
  primarySubmit: "Make it the main address",
  removeTitle: "Remove this address?",
  removeText:
    "You can no longer set a new password with {address}. A mail is sent to it; if it is your oldest address, that mail can undo the removal for seven days.",
  removeSubmit: "Remove",
} as const;

/** **Texts of further addresses.** */
export const addressMessages: Catalog<keyof typeof en> = {
  en,
  de: {
    confirmed: "bestätigt am {date}",
    primary: "Als Hauptadresse",
    remove: "Entfernen",
    add: "Weitere Adresse hinzufügen",
    addText:
      "An die Adresse wird ein Code gesendet, um zu bestätigen, dass sie Ihnen gehört. Mit ihr können Sie ein neues Passwort festlegen, wenn Sie Ihres vergessen, und sie wird über Änderungen Ihres Kontos benachrichtigt.",
    primaryTitle: "Zur Hauptadresse machen?",
    primaryText: "Anwendungen sehen dann {address}. Ihre anderen Adressen bleiben.",
    primarySubmit: "Zur Hauptadresse machen",
    removeTitle: "Diese Adresse entfernen?",
    removeText:
      "Mit {address} können Sie dann kein neues Passwort mehr festlegen. Sie wird benachrichtigt; wenn sie Ihre älteste ist, kann sie das sieben Tage lang rückgängig machen.",
    removeSubmit: "Entfernen",
  },
};
