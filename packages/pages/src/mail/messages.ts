/** **Texts of mails.** */

import type { Catalog } from "../translator.ts";

const en = {
  "mail.passwordChanged": "Your password was changed",
  "mail.passwordSet": "An administrator has set a new password for you",
  "mail.passwordRemoved": "An administrator has removed your password",
  "mail.passkeyAdded": "A passkey was added to your account",
  "mail.passkeyRemoved": "A passkey was removed from your account",
  "mail.appAdded": "An authenticator app was added to your account",
  "mail.appRemoved": "An authenticator app was removed from your account",
  "mail.codesMade": "New recovery codes were made for your account",
  "mail.codesRemoved": "The recovery codes of your account were removed",
  "mail.codeUsed": "A recovery code was used to sign in to your account",
  "mail.identityLinked": "A sign-in with another provider was connected with your account",
  "mail.identityUnlinked": "A sign-in with another provider was disconnected from your account",
  "mail.factorRemoved": "An administrator has removed a second factor or passkey from your account",
  "mail.accessEnded": "An administrator has signed you out everywhere",
  "mail.when": "This concerns your account at {name}. It happened on {at} (UTC).",
  "mail.byYou": "If this was you, you do not need to do anything.",
  "mail.notYou":
    "Was this not you? Sign in, change your password, remove passkeys that you do not know, and end all other sessions.",
  "mail.byAdministrator": "If you did not expect this, ask your administrator.",
  "mail.account": "Your account",
  "mail.cannotSignIn":
    "If you cannot sign in, contact the operator of this service. Nobody will ask you for your password or a code.",
} as const;

const de: Readonly<Record<keyof typeof en, string>> = {
  "mail.passwordChanged": "Ihr Passwort wurde geändert",
  "mail.passwordSet": "Ein Administrator hat ein neues Passwort für Sie festgelegt",
  "mail.passwordRemoved": "Ein Administrator hat Ihr Passwort entfernt",
  "mail.passkeyAdded": "Ihrem Konto wurde ein Passkey hinzugefügt",
  "mail.passkeyRemoved": "Aus Ihrem Konto wurde ein Passkey entfernt",
  "mail.appAdded": "Ihrem Konto wurde eine Authenticator-App hinzugefügt",
  "mail.appRemoved": "Aus Ihrem Konto wurde eine Authenticator-App entfernt",
  "mail.codesMade": "Für Ihr Konto wurden neue Wiederherstellungscodes erstellt",
  "mail.codesRemoved": "Die Wiederherstellungscodes Ihres Kontos wurden entfernt",
  "mail.codeUsed": "Mit einem Wiederherstellungscode hat sich jemand bei Ihrem Konto angemeldet",
  "mail.identityLinked": "Eine Anmeldung mit einem anderen Anbieter wurde mit Ihrem Konto verbunden",
  "mail.identityUnlinked": "Eine Anmeldung mit einem anderen Anbieter wurde von Ihrem Konto getrennt",
  "mail.factorRemoved": "Ein Administrator hat einen zweiten Faktor oder Passkey aus Ihrem Konto entfernt",
  "mail.accessEnded": "Ein Administrator hat Sie überall abgemeldet",
  "mail.when": "Es geht um Ihr Konto bei {name}. Zeitpunkt: {at} (UTC).",
  "mail.byYou": "Wenn Sie das waren, müssen Sie nichts tun.",
  "mail.notYou":
    "Waren Sie das nicht? Melden Sie sich an, ändern Sie Ihr Passwort, entfernen Sie unbekannte Passkeys und beenden Sie alle anderen Sitzungen.",
  "mail.byAdministrator": "Wenn Sie das nicht erwartet haben, fragen Sie Ihren Administrator.",
  "mail.account": "Ihr Konto",
  "mail.cannotSignIn":
    "Wenn Sie sich nicht anmelden können, wenden Sie sich an den Betreiber dieses Dienstes. Niemand wird Sie nach Ihrem Passwort oder einem Code fragen.",
};

export const mailMessages: Catalog<keyof typeof en> = { en, de };
