import type { Catalog } from "@edge-op/pages/translator";
import { type MessageKey, messages } from "../pages/messages.ts";
import type { SignInText } from "../step/sign-in-method.ts";

const en = {
  "password.title": "Change password",
  "password.titleSet": "Set a password",
  "password.text": "You will be signed out on all other devices, and applications must sign you in again.",
  "password.recoverText": "You are signed out everywhere, and applications must sign you in again.",
  "password.temporaryText": "An administrator has given you a temporary password. Choose one of your own to sign in.",
  "password.temporary": "Choose another password than the temporary one.",
  "password.username": "Username",
  "password.current": "Current password",
  "password.new": "New password",
  "password.repeat": "Repeat the new password",
  "password.hint":
    "At least {min, plural, one {# character} other {# characters}}, for example several words that only you would put together.",
  "password.show": "Show what I type",
  "password.submit": "Change password",
  "password.submitSet": "Set password",
  "password.wrongCurrent": "The current password is not correct.",
  "password.tooShort": "The new password must have at least {min, plural, one {# character} other {# characters}}.",
  "password.tooLong": "The new password must have at most {max, plural, one {# character} other {# characters}}.",
  "password.malformed": "The new password contains characters that cannot be stored.",
  "password.common": "The new password is too common. Choose another one.",
  "password.breached":
    "The new password is in lists that were stolen elsewhere. Choose another one, which you use nowhere else.",
  "password.personal":
    "The new password consists mostly of your name, your email address or the name of this service. Add words that others would not guess.",
  "password.simple":
    "The new password consists mostly of repeated or consecutive characters. Add words that others would not guess.",
  "password.differ": "The two new passwords are not the same.",
} as const;

const de: Readonly<Record<keyof typeof en, string>> = {
  "password.title": "Passwort ändern",
  "password.titleSet": "Passwort festlegen",
  "password.text": "Auf allen anderen Geräten werden Sie abgemeldet, und Anwendungen müssen Sie neu anmelden.",
  "password.recoverText": "Sie werden überall abgemeldet, und Anwendungen müssen Sie erneut anmelden.",
  "password.temporaryText":
    "Ein Administrator hat Ihnen ein vorläufiges Passwort gegeben. Wählen Sie Ihr eigenes, um sich anzumelden.",
  "password.temporary": "Wählen Sie ein anderes Passwort als das vorläufige.",
  "password.username": "Benutzername",
  "password.current": "Aktuelles Passwort",
  "password.new": "Neues Passwort",
  "password.repeat": "Neues Passwort wiederholen",
  "password.hint": "Mindestens {min} Zeichen, zum Beispiel mehrere Wörter, die nur Sie so zusammenstellen würden.",
  "password.show": "Eingabe anzeigen",
  "password.submit": "Passwort ändern",
  "password.submitSet": "Passwort festlegen",
  "password.wrongCurrent": "Das aktuelle Passwort ist nicht richtig.",
  "password.tooShort": "Das neue Passwort muss mindestens {min} Zeichen haben.",
  "password.tooLong": "Das neue Passwort darf höchstens {max} Zeichen haben.",
  "password.malformed": "Das neue Passwort enthält Zeichen, die nicht gespeichert werden können.",
  "password.common": "Das neue Passwort gehört zu denen, die zuerst erraten werden. Wählen Sie ein anderes.",
  "password.breached":
    "Das neue Passwort steht in Listen, die anderswo gestohlen wurden. Wählen Sie ein anderes, das Sie sonst nirgends verwenden.",
  "password.personal":
    "Das neue Passwort besteht fast nur aus Ihrem Namen, Ihrer E-Mail-Adresse oder dem Namen dieses Dienstes. Ergänzen Sie Wörter, die andere nicht erraten.",
  "password.simple":
    "Das neue Passwort besteht fast nur aus wiederholten oder aufeinanderfolgenden Zeichen. Ergänzen Sie Wörter, die andere nicht erraten.",
  "password.differ": "Die beiden neuen Passwörter sind nicht gleich.",
};

export type PasswordText = keyof typeof en | MessageKey;

/** **Texts of the forms for a new password**, with those that several pages share. */
export const passwordMessages: Catalog<PasswordText> = { en: { ...messages.en, ...en }, de: { ...messages.de, ...de } };

/** **Texts of the password form.** */
export const passwordSignInMessages: Catalog<SignInText | "username" | "password" | "submit"> = {
  en: {
    username: "Username or email address",
    password: "Password",
    submit: "Sign in",
    refused: "That name and password do not match. Check both and try again.",
    refusedAgain: "That password is not correct. Try again.",
    required: "{client} requires your password.",
    preferred: "{client} prefers a sign-in with your password.",
  },
  de: {
    username: "Benutzername oder E-Mail-Adresse",
    password: "Passwort",
    submit: "Anmelden",
    refused: "Name und Passwort passen nicht zusammen. Bitte prüfen Sie beide und versuchen Sie es erneut.",
    refusedAgain: "Dieses Passwort ist nicht richtig. Versuchen Sie es erneut.",
    required: "{client} verlangt Ihr Passwort.",
    preferred: "{client} bevorzugt eine Anmeldung mit Ihrem Passwort.",
  },
};
