/**
 * **Every text that people read**, by language. `{name}` is replaced. A language is one more member here: the compiler names
 * what it lacks.
 */
const en = {
  "signIn.title": "Sign in",
  "signIn.to": "to continue to {client}",
  "signIn.username": "Username",
  "signIn.password": "Password",
  "signIn.submit": "Sign in",
  "signIn.passkey": "Sign in with a passkey",
  "signIn.or": "or",
  "signIn.cancel": "Cancel",
  "signIn.wrong": "That username and password do not match. Check both and try again.",
  "signIn.wrongPasskey": "That passkey did not work. Try again, or use your password.",
  "signIn.throttled": "Too many attempts. Wait {seconds} seconds, then try again.",
  "signIn.passkeyNeeded": "{client} asks for a passkey this time.",
  "signIn.again": "Please confirm that it is you.",
  "consent.title": "Allow access?",
  "consent.asks": "{client} would like to:",
  "consent.as": "Signed in as {user}",
  "consent.allow": "Allow",
  "consent.deny": "Cancel",
  "consent.revocable": "You can take this back at any time in your account.",
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
  "scope.offline_access": "Keep this access while you are away",
  "scope.other": "Use “{scope}” on your behalf",
  "claim.other": "See your “{claim}”",
  "logout.title": "Sign out?",
  "logout.text": "You will be signed out of {provider} and of the applications you used with it.",
  "logout.asked": "{client} asks to sign you out.",
  "logout.submit": "Sign out",
  "logout.stay": "Stay signed in",
  "loggedOut.title": "You are signed out",
  "loggedOut.text": "It is safe to close this window.",
  "stayed.title": "You are still signed in",
  "stayed.text": "Nothing was changed. You can close this window.",
  "error.title": "This did not work",
  "error.back": "Go back to the application and try again. If it happens again, tell its support what is written here.",
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
  "account.noScript": "Adding a passkey needs scripts, which this browser has turned off.",
  "account.removePasskey": "Remove",
  "account.passkeyAdded": "Your passkey was added.",
  "account.passkeyFailed": "The passkey was not added. Please try again.",
  "account.created": "Added {date}",
  "account.lastUsed": "last used {date}",
  "account.apps": "Applications with access",
  "account.noApps": "No application has access to your account.",
  "account.revoke": "Remove access",
  "account.sessions": "Where you are signed in",
  "account.thisDevice": "This device",
  "account.endSession": "Sign out",
  support: "Help",
} as const;

export type MessageKey = keyof typeof en;
type Messages = Readonly<Record<MessageKey, string>>;

const de: Messages = {
  "signIn.title": "Anmelden",
  "signIn.to": "um mit {client} fortzufahren",
  "signIn.username": "Benutzername",
  "signIn.password": "Passwort",
  "signIn.submit": "Anmelden",
  "signIn.passkey": "Mit Passkey anmelden",
  "signIn.or": "oder",
  "signIn.cancel": "Abbrechen",
  "signIn.wrong":
    "Benutzername und Passwort passen nicht zusammen. Bitte prüfen Sie beide und versuchen Sie es erneut.",
  "signIn.wrongPasskey": "Dieser Passkey hat nicht funktioniert. Versuchen Sie es erneut oder nutzen Sie Ihr Passwort.",
  "signIn.throttled": "Zu viele Versuche. Warten Sie {seconds} Sekunden und versuchen Sie es dann erneut.",
  "signIn.passkeyNeeded": "{client} verlangt dieses Mal einen Passkey.",
  "signIn.again": "Bitte bestätigen Sie, dass Sie es sind.",
  "consent.title": "Zugriff erlauben?",
  "consent.asks": "{client} möchte:",
  "consent.as": "Angemeldet als {user}",
  "consent.allow": "Erlauben",
  "consent.deny": "Abbrechen",
  "consent.revocable": "Sie können dies jederzeit in Ihrem Konto widerrufen.",
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
  "scope.offline_access": "Diesen Zugriff behalten, während Sie abwesend sind",
  "scope.other": "„{scope}“ in Ihrem Namen nutzen",
  "claim.other": "Ihre Angabe „{claim}“ sehen",
  "logout.title": "Abmelden?",
  "logout.text": "Sie werden bei {provider} und den damit genutzten Anwendungen abgemeldet.",
  "logout.asked": "{client} möchte Sie abmelden.",
  "logout.submit": "Abmelden",
  "logout.stay": "Angemeldet bleiben",
  "loggedOut.title": "Sie sind abgemeldet",
  "loggedOut.text": "Sie können dieses Fenster jetzt schließen.",
  "stayed.title": "Sie sind weiterhin angemeldet",
  "stayed.text": "Es wurde nichts geändert. Sie können dieses Fenster schließen.",
  "error.title": "Das hat nicht geklappt",
  "error.back":
    "Gehen Sie zur Anwendung zurück und versuchen Sie es erneut. Tritt der Fehler wieder auf, nennen Sie deren Support, was hier steht.",
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
  "account.noScript": "Zum Hinzufügen eines Passkeys müssen Skripte erlaubt sein.",
  "account.removePasskey": "Entfernen",
  "account.passkeyAdded": "Ihr Passkey wurde hinzugefügt.",
  "account.passkeyFailed": "Der Passkey wurde nicht hinzugefügt. Bitte versuchen Sie es erneut.",
  "account.created": "Hinzugefügt am {date}",
  "account.lastUsed": "zuletzt benutzt am {date}",
  "account.apps": "Anwendungen mit Zugriff",
  "account.noApps": "Keine Anwendung hat Zugriff auf Ihr Konto.",
  "account.revoke": "Zugriff entziehen",
  "account.sessions": "Wo Sie angemeldet sind",
  "account.thisDevice": "Dieses Gerät",
  "account.endSession": "Abmelden",
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
