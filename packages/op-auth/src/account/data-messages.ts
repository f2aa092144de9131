import type { Catalog } from "@edge-op/pages/translator";

const en = {
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

type DataMessageKey = keyof typeof en;

const de: Readonly<Record<DataMessageKey, string>> = {
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
export const dataMessages: Catalog<DataMessageKey> = { en, de };
