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

const applicationsEn = {
  since: "Access since {date}",
  fromHost: "from {host}",
  selfRegistered: "registered itself",
  selfRegisteredTimes: "registered itself {count} times",
} as const;

export type ApplicationsMessageKey = keyof typeof applicationsEn;

const applicationsDe: Readonly<Record<ApplicationsMessageKey, string>> = {
  since: "Zugriff seit {date}",
  fromHost: "von {host}",
  selfRegistered: "hat sich selbst registriert",
  selfRegisteredTimes: "hat sich {count}-mal selbst registriert",
};

/** **Texts of the list of applications.** */
export const applicationsMessages: Catalog<ApplicationsMessageKey> = { en: applicationsEn, de: applicationsDe };

const dataEn = {
  title: "Activity and data",
  activity: "Activity",
  download: "Download your data",
  downloadText:
    "The file contains everything that is stored about you here: your profile, how you sign in, where you are signed in, which applications have access, and the activity of your account. It contains no password and no other secret. Keep it where nobody else can read it.",
  downloadSubmit: "Download",
  remove: "Delete your account",
  removeText:
    "You are signed out everywhere, and applications lose their access at once. After {days, plural, one {# day} other {# days}} your account is permanently deleted, with everything that is stored about you here. If you change your mind, sign in before then.",
  removeSubmit: "Delete account",
  leavingTitle: "Your account will be deleted",
  leavingText:
    "You are signed out everywhere. In {days, plural, one {# day} other {# days}} your account is permanently deleted. If you want to keep it, sign in before then.",
} as const;

type DataMessageKey = keyof typeof dataEn;

const dataDe: Readonly<Record<DataMessageKey, string>> = {
  title: "Aktivität und Daten",
  activity: "Aktivität",
  download: "Ihre Daten herunterladen",
  downloadText:
    "Die Datei enthält alles, was hier über Sie gespeichert ist: Ihr Profil, wie Sie sich anmelden, wo Sie angemeldet sind, welche Anwendungen Zugriff haben und was mit Ihrem Konto geschehen ist. Sie enthält kein Passwort und kein anderes Geheimnis. Bewahren Sie sie dort auf, wo niemand anderes sie lesen kann.",
  downloadSubmit: "Herunterladen",
  remove: "Ihr Konto löschen",
  removeText:
    "Sie werden überall abgemeldet, und Anwendungen verlieren sofort ihren Zugriff. Nach {days, plural, one {# Tag} other {# Tagen}} wird Ihr Konto endgültig gelöscht, mit allem, was hier über Sie gespeichert ist. Wenn Sie es sich anders überlegen, melden Sie sich vorher an.",
  removeSubmit: "Konto löschen",
  leavingTitle: "Ihr Konto wird gelöscht",
  leavingText:
    "Sie sind überall abgemeldet. In {days, plural, one {# Tag} other {# Tagen}} wird Ihr Konto endgültig gelöscht. Wenn Sie es behalten möchten, melden Sie sich vorher an.",
};

/** **Texts of the download and the deletion of an account.** */
export const dataMessages: Catalog<DataMessageKey> = { en: dataEn, de: dataDe };

const resetEn = {
  resetTitle: "Set a new password",
  resetText: "An administrator has sent you this link. You choose a new password on the next page.",
  resetSubmit: "Continue",
  resetGone: "This link has expired or was used. Ask your administrator for another one.",
  toAccount: "Go to your account",
} as const;

/** **Texts of the page of an administrator's reset.** */
export const resetMessages: Catalog<keyof typeof resetEn> = {
  en: resetEn,
  de: {
    resetTitle: "Neues Passwort festlegen",
    resetText:
      "Ein Administrator hat Ihnen diesen Link gesendet. Auf der nächsten Seite wählen Sie ein neues Passwort.",
    resetSubmit: "Weiter",
    resetGone: "Dieser Link ist abgelaufen oder wurde schon benutzt. Bitten Sie Ihren Administrator um einen neuen.",
    toAccount: "Zu Ihrem Konto",
  },
};
