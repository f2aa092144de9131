/**
 * **Every text that people read**, by language. `{name}` is replaced. A language is one more member here: the compiler names
 * what it lacks.
 */
const en = {
  "signIn.title": "Sign in",
  "signIn.to": "to continue to {client}",
  "signIn.toProvider": "to your {provider} account",
  "signIn.username": "Username",
  "signIn.password": "Password",
  "signIn.submit": "Sign in",
  "signIn.passkey": "Sign in with a passkey",
  "signIn.or": "or",
  "signIn.cancel": "Cancel",
  "signIn.wrong": "That username and password do not match. Check both and try again.",
  "signIn.wrongPassword": "That password is not correct. Try again.",
  "signIn.wrongPasskey": "That passkey did not work. Try again, or use your password.",
  "signIn.throttled": "Too many attempts. Wait {seconds} seconds, then try again.",
  "signIn.passkeyNeeded": "{client} requires a passkey.",
  "signIn.again": "Confirm it is you",
  "signIn.againText": "{client} requires a recent sign-in.",
  "signIn.againAccount": "This change requires a recent sign-in.",
  "signIn.other": "Use another account",
  "consent.title": "Allow access?",
  "consent.asks": "{client} would like to:",
  "consent.as": "Signed in as {user}",
  "consent.allow": "Allow",
  "consent.deny": "Cancel",
  "consent.notYou": "Not you? Use another account",
  "consent.revocable": "You can withdraw this access at any time in",
  "consent.account": "your account",
  "consent.policy": "Privacy policy",
  "consent.terms": "Terms of service",
  "select.title": "Choose an account",
  "select.to": "to continue to {client}",
  "select.continue": "Continue as {user}",
  "select.other": "Use another account",
  "scope.openid": "Know who you are",
  "scope.profile": "See your name, picture and profile",
  "scope.email": "See your email address",
  "scope.address": "See your postal address",
  "scope.phone": "See your phone number",
  "scope.roles": "See your roles",
  "scope.groups": "See your groups",
  "scope.permissions": "See your permissions",
  "scope.offline_access": "Keep this access while you are away",
  "scope.other": "Use “{scope}” on your behalf",
  "claim.other": "See your “{claim}”",
  "logout.title": "Sign out?",
  "logout.text": "You will be signed out of {provider} and of the applications you used with it.",
  "logout.asked": "{client} asks to sign you out.",
  "logout.submit": "Sign out",
  "logout.stay": "Stay signed in",
  "loggedOut.title": "You are signed out",
  "loggedOut.text": "You can close this window.",
  "loggedOut.again": "Sign in again",
  "stayed.title": "You are still signed in",
  "stayed.text": "Nothing was changed. You can close this window.",
  "home.text": "{provider} signs you in to your applications.",
  "home.account": "Manage your account",
  "home.signIn": "Sign in to your account",
  "home.signOut": "Sign out",
  "home.link": "Go to the start page",
  "notFound.title": "Page not found",
  "notFound.text": "There is no page at this address. Check the address, or go back.",
  "error.title": "This did not work",
  "error.back":
    "Go back to the application and try again. If the error persists, send the details below to the application’s support.",
  "error.unavailable": "The service is not available right now. Please try again in a moment.",
  "error.server": "Something went wrong on our side. Please try again.",
  "error.expired": "This page has expired or was already used. Go back to the application and start again.",
  "error.code": "Error",
  "error.reference": "Reference",
  "redirect.title": "One moment",
  "redirect.submit": "Continue",
  "account.title": "Your account",
  "account.signedInAs": "Signed in as {user}",
  "account.passkeys": "Passkeys",
  "account.passkeysText":
    "A passkey signs you in with your fingerprint, face or device PIN. It cannot be guessed or phished.",
  "account.addPasskey": "Add a passkey",
  "account.noScript": "Adding a passkey requires JavaScript, which is turned off in this browser.",
  "account.noPasskeys": "You have no passkeys yet.",
  "account.removePasskey": "Remove",
  "account.renamePasskey": "Rename",
  "account.passkeyName": "Name of this passkey",
  "account.save": "Save",
  "account.passkeyAdded": "Your passkey was added.",
  "account.passkeyFailed": "The passkey was not added. Please try again.",
  "account.passkeyExists": "This device already has a passkey for your account.",
  "account.passkeyRenamed": "The passkey was renamed.",
  "account.passkeyNotRenamed": "The passkey was not renamed. A name has 1 to 64 characters.",
  "account.password": "Password",
  "account.passwordText": "Changing your password signs you out everywhere else.",
  "account.noPasswordText": "You have no password. You sign in with a passkey.",
  "account.changePassword": "Change password",
  "account.setPassword": "Set a password",
  "account.passwordChanged": "Your password was changed. You were signed out everywhere else.",
  "account.created": "Added {date}",
  "account.lastUsed": "last used {date}",
  "account.apps": "Applications with access",
  "account.noApps": "No application has access to your account.",
  "account.revoke": "Remove access",
  "account.sessions": "Where you are signed in",
  "account.sessionsText":
    "The place is estimated from the network address at sign-in. The address itself is not stored.",
  "account.thisDevice": "This device",
  "account.signedInAt": "Signed in {date} UTC",
  "account.endSession": "Sign out",
  "account.endOthers": "Sign out everywhere else",
  "account.othersEnded": "You were signed out everywhere else.",
  "confirm.consent": "Remove access?",
  "confirm.consentText":
    "{client} loses access to your account, also where it still works without you. It can ask for access again.",
  "confirm.passkey": "Remove this passkey?",
  "confirm.passkeyText":
    "You can no longer sign in with “{passkey}”. It may still be offered by your device until you delete it there.",
  "confirm.session": "Sign out this device?",
  "confirm.sessionText": "{device} is signed out of {provider} and of the applications used with it.",
  "confirm.others": "Sign out everywhere else?",
  "confirm.othersText":
    "All other devices are signed out of {provider} and of the applications used with it. You stay signed in here.",
  "confirm.cancel": "Cancel",
  "password.title": "Change password",
  "password.titleSet": "Set a password",
  "password.text": "You will be signed out on all other devices, and applications must sign you in again.",
  "password.current": "Current password",
  "password.new": "New password",
  "password.repeat": "Repeat the new password",
  "password.hint": "At least {min} characters.",
  "password.submit": "Change password",
  "password.submitSet": "Set password",
  "password.wrongCurrent": "The current password is not correct.",
  "password.badLength": "The new password must have {min} to {max} characters.",
  "password.differ": "The two new passwords are not the same.",
  "link.account": "Your account",
  support: "Help",
} as const;

export type MessageKey = keyof typeof en;
type Messages = Readonly<Record<MessageKey, string>>;

const de: Messages = {
  "signIn.title": "Anmelden",
  "signIn.to": "um mit {client} fortzufahren",
  "signIn.toProvider": "bei Ihrem Konto ({provider})",
  "signIn.username": "Benutzername",
  "signIn.password": "Passwort",
  "signIn.submit": "Anmelden",
  "signIn.passkey": "Mit Passkey anmelden",
  "signIn.or": "oder",
  "signIn.cancel": "Abbrechen",
  "signIn.wrong":
    "Benutzername und Passwort passen nicht zusammen. Bitte prüfen Sie beide und versuchen Sie es erneut.",
  "signIn.wrongPassword": "Dieses Passwort ist nicht richtig. Versuchen Sie es erneut.",
  "signIn.wrongPasskey": "Dieser Passkey hat nicht funktioniert. Versuchen Sie es erneut oder nutzen Sie Ihr Passwort.",
  "signIn.throttled": "Zu viele Versuche. Warten Sie {seconds} Sekunden und versuchen Sie es dann erneut.",
  "signIn.passkeyNeeded": "{client} verlangt einen Passkey.",
  "signIn.again": "Bestätigen Sie, dass Sie es sind",
  "signIn.againText": "{client} verlangt eine aktuelle Anmeldung.",
  "signIn.againAccount": "Diese Änderung verlangt eine aktuelle Anmeldung.",
  "signIn.other": "Anderes Konto verwenden",
  "consent.title": "Zugriff erlauben?",
  "consent.asks": "{client} möchte:",
  "consent.as": "Angemeldet als {user}",
  "consent.allow": "Erlauben",
  "consent.deny": "Abbrechen",
  "consent.notYou": "Nicht Sie? Anderes Konto verwenden",
  "consent.revocable": "Sie können diesen Zugriff jederzeit widerrufen, in",
  "consent.account": "Ihrem Konto",
  "consent.policy": "Datenschutzerklärung",
  "consent.terms": "Nutzungsbedingungen",
  "select.title": "Konto auswählen",
  "select.to": "um mit {client} fortzufahren",
  "select.continue": "Weiter als {user}",
  "select.other": "Anderes Konto verwenden",
  "scope.openid": "Wissen, wer Sie sind",
  "scope.profile": "Ihren Namen, Ihr Bild und Ihr Profil sehen",
  "scope.email": "Ihre E-Mail-Adresse sehen",
  "scope.address": "Ihre Postanschrift sehen",
  "scope.phone": "Ihre Telefonnummer sehen",
  "scope.roles": "Ihre Rollen sehen",
  "scope.groups": "Ihre Gruppen sehen",
  "scope.permissions": "Ihre Berechtigungen sehen",
  "scope.offline_access": "Diesen Zugriff behalten, während Sie abwesend sind",
  "scope.other": "„{scope}“ in Ihrem Namen nutzen",
  "claim.other": "Ihre Angabe „{claim}“ sehen",
  "logout.title": "Abmelden?",
  "logout.text": "Sie werden bei {provider} und den damit genutzten Anwendungen abgemeldet.",
  "logout.asked": "{client} möchte Sie abmelden.",
  "logout.submit": "Abmelden",
  "logout.stay": "Angemeldet bleiben",
  "loggedOut.title": "Sie sind abgemeldet",
  "loggedOut.text": "Sie können dieses Fenster schließen.",
  "loggedOut.again": "Wieder anmelden",
  "stayed.title": "Sie sind weiterhin angemeldet",
  "stayed.text": "Es wurde nichts geändert. Sie können dieses Fenster schließen.",
  "home.text": "{provider} meldet Sie bei Ihren Anwendungen an.",
  "home.account": "Konto verwalten",
  "home.signIn": "Bei Ihrem Konto anmelden",
  "home.signOut": "Abmelden",
  "home.link": "Zur Startseite",
  "notFound.title": "Seite nicht gefunden",
  "notFound.text": "Unter dieser Adresse gibt es keine Seite. Prüfen Sie die Adresse oder gehen Sie zurück.",
  "error.title": "Das hat nicht geklappt",
  "error.back":
    "Gehen Sie zur Anwendung zurück und versuchen Sie es erneut. Tritt der Fehler wieder auf, senden Sie die folgenden Angaben an den Support der Anwendung.",
  "error.unavailable": "Der Dienst ist gerade nicht erreichbar. Bitte versuchen Sie es gleich noch einmal.",
  "error.server": "Bei uns ist etwas schiefgegangen. Bitte versuchen Sie es erneut.",
  "error.expired":
    "Diese Seite ist abgelaufen oder wurde schon benutzt. Gehen Sie zur Anwendung zurück und beginnen Sie neu.",
  "error.code": "Fehler",
  "error.reference": "Vorgang",
  "redirect.title": "Einen Moment",
  "redirect.submit": "Weiter",
  "account.title": "Ihr Konto",
  "account.signedInAs": "Angemeldet als {user}",
  "account.passkeys": "Passkeys",
  "account.passkeysText":
    "Mit einem Passkey melden Sie sich per Fingerabdruck, Gesicht oder Geräte-PIN an. Er lässt sich nicht erraten oder abfischen.",
  "account.addPasskey": "Passkey hinzufügen",
  "account.noScript": "Zum Hinzufügen eines Passkeys ist JavaScript nötig, das in diesem Browser ausgeschaltet ist.",
  "account.noPasskeys": "Sie haben noch keinen Passkey.",
  "account.removePasskey": "Entfernen",
  "account.renamePasskey": "Umbenennen",
  "account.passkeyName": "Name dieses Passkeys",
  "account.save": "Speichern",
  "account.passkeyAdded": "Ihr Passkey wurde hinzugefügt.",
  "account.passkeyFailed": "Der Passkey wurde nicht hinzugefügt. Bitte versuchen Sie es erneut.",
  "account.passkeyExists": "Dieses Gerät hat bereits einen Passkey für Ihr Konto.",
  "account.passkeyRenamed": "Der Passkey wurde umbenannt.",
  "account.passkeyNotRenamed": "Der Passkey wurde nicht umbenannt. Ein Name hat 1 bis 64 Zeichen.",
  "account.password": "Passwort",
  "account.passwordText": "Wenn Sie Ihr Passwort ändern, werden Sie überall sonst abgemeldet.",
  "account.noPasswordText": "Sie haben kein Passwort. Sie melden sich mit einem Passkey an.",
  "account.changePassword": "Passwort ändern",
  "account.setPassword": "Passwort festlegen",
  "account.passwordChanged": "Ihr Passwort wurde geändert. Überall sonst wurden Sie abgemeldet.",
  "account.created": "Hinzugefügt am {date}",
  "account.lastUsed": "zuletzt benutzt am {date}",
  "account.apps": "Anwendungen mit Zugriff",
  "account.noApps": "Keine Anwendung hat Zugriff auf Ihr Konto.",
  "account.revoke": "Zugriff entziehen",
  "account.sessions": "Wo Sie angemeldet sind",
  "account.sessionsText":
    "Der Ort wird bei der Anmeldung aus der Netzwerkadresse geschätzt. Die Adresse selbst wird nicht gespeichert.",
  "account.thisDevice": "Dieses Gerät",
  "account.signedInAt": "Angemeldet am {date} UTC",
  "account.endSession": "Abmelden",
  "account.endOthers": "Überall sonst abmelden",
  "account.othersEnded": "Überall sonst wurden Sie abgemeldet.",
  "confirm.consent": "Zugriff entziehen?",
  "confirm.consentText":
    "{client} verliert den Zugriff auf Ihr Konto, auch wo er ohne Sie weiterläuft. Die Anwendung kann erneut um Zugriff bitten.",
  "confirm.passkey": "Diesen Passkey entfernen?",
  "confirm.passkeyText":
    "Sie können sich mit „{passkey}“ nicht mehr anmelden. Ihr Gerät bietet ihn vielleicht noch an, bis Sie ihn dort löschen.",
  "confirm.session": "Dieses Gerät abmelden?",
  "confirm.sessionText": "{device} wird bei {provider} und den damit genutzten Anwendungen abgemeldet.",
  "confirm.others": "Überall sonst abmelden?",
  "confirm.othersText":
    "Alle anderen Geräte werden bei {provider} und den damit genutzten Anwendungen abgemeldet. Hier bleiben Sie angemeldet.",
  "confirm.cancel": "Abbrechen",
  "password.title": "Passwort ändern",
  "password.titleSet": "Passwort festlegen",
  "password.text": "Auf allen anderen Geräten werden Sie abgemeldet, und Anwendungen müssen Sie neu anmelden.",
  "password.current": "Aktuelles Passwort",
  "password.new": "Neues Passwort",
  "password.repeat": "Neues Passwort wiederholen",
  "password.hint": "Mindestens {min} Zeichen.",
  "password.submit": "Passwort ändern",
  "password.submitSet": "Passwort festlegen",
  "password.wrongCurrent": "Das aktuelle Passwort ist nicht richtig.",
  "password.badLength": "Das neue Passwort muss {min} bis {max} Zeichen haben.",
  "password.differ": "Die beiden neuen Passwörter sind nicht gleich.",
  "link.account": "Ihr Konto",
  support: "Hilfe",
};

const languages: Readonly<Record<string, Messages>> = { en, de };

export interface Translator {
  readonly language: string;
  (key: MessageKey, values?: Readonly<Record<string, string>>): string;
}

/**
 * The best language for a person: what the client says they read (`ui_locales`), then what their browser says, then English.
 * @see https://www.rfc-editor.org/rfc/rfc4647#section-3.4
 */
export function translatorFor(uiLocales: readonly string[], acceptLanguage: string | null): Translator {
  const wanted = [...uiLocales, ...readAcceptLanguage(acceptLanguage ?? "")];
  const language = wanted
    .map((tag) => tag.split("-", 1)[0]!.toLowerCase())
    .find((tag) => Object.hasOwn(languages, tag));
  return translator(language ?? "en");
}

function translator(language: string): Translator {
  const messages = languages[language] ?? en;
  const translate = (key: MessageKey, values: Readonly<Record<string, string>> = {}) =>
    messages[key].replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");
  return Object.assign(translate, { language });
}

function readAcceptLanguage(header: string): string[] {
  return header
    .split(",", 10)
    .map((part) => {
      const [tag = "", ...parameters] = part.trim().split(";");
      const quality = parameters.map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1]).find(Boolean);
      return { tag, quality: quality === undefined ? 1 : Number(quality) };
    })
    .filter(({ quality }) => quality > 0)
    .sort((left, right) => right.quality - left.quality)
    .map(({ tag }) => tag);
}
