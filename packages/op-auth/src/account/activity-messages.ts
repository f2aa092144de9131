import type { Catalog } from "@edge-op/pages/translator";

const en = {
  title: "Activity",
  text: "What happened with your account. If there is something that was not you, change your password and sign out everywhere else.",
  none: "Nothing was recorded.",
  older: "Older",
  newest: "Newest",
  network: "from {network}",
  back: "Back to your account",
  "sign-in.succeeded": "Signed in",
  "sign-in.failed": "A sign-in failed",
  "sign-in.throttled": "Sign-ins were refused after too many attempts",
  "consent.given": "You gave an application access",
  "consent.withdrawn": "You removed an application’s access",
  "password.changed": "Password changed",
  "password.recovered": "New password set after you had forgotten it",
  "passkey.added": "Passkey added",
  "passkey.removed": "Passkey removed",
  "totp.added": "Authenticator app added",
  "totp.removed": "Authenticator app removed",
  "recovery_codes.made": "Recovery codes made",
  "recovery_codes.used": "A recovery code was used",
  "recovery_codes.removed": "Recovery codes removed",
  "address.changed": "Email address changed",
  "address.undone": "Change of the email address taken back",
  "identity.linked": "Provider connected",
  "identity.unlinked": "Provider disconnected",
  "account.provisioned": "Account created",
  "user.sign_up": "Account created",
  "account.exported": "Data downloaded",
  "account.deletion_asked": "Deletion of the account asked for",
  "account.restored": "Account kept",
  "user.create": "An administrator created the account",
  "user.update": "An administrator changed the account",
  "user.factor_remove": "An administrator removed a factor",
  "user.session_end": "An administrator signed you out",
  "user.consent_end": "An administrator removed an application’s access",
  "user.grant_end": "An administrator removed an application’s access",
  "user.export": "An administrator exported your data",
} as const;

type ActivityMessageKey = keyof typeof en;

const de: Readonly<Record<ActivityMessageKey, string>> = {
  title: "Aktivität",
  text: "Was mit Ihrem Konto geschehen ist. Wenn Sie etwas davon nicht selbst waren, ändern Sie Ihr Passwort und melden Sie sich überall sonst ab.",
  none: "Es wurde nichts aufgezeichnet.",
  older: "Ältere",
  newest: "Neueste",
  network: "aus {network}",
  back: "Zurück zu Ihrem Konto",
  "sign-in.succeeded": "Angemeldet",
  "sign-in.failed": "Eine Anmeldung ist fehlgeschlagen",
  "sign-in.throttled": "Anmeldungen wurden nach zu vielen Versuchen abgelehnt",
  "consent.given": "Sie haben einer Anwendung Zugriff erlaubt",
  "consent.withdrawn": "Sie haben einer Anwendung den Zugriff entzogen",
  "password.changed": "Passwort geändert",
  "password.recovered": "Neues Passwort festgelegt, nachdem Sie es vergessen hatten",
  "passkey.added": "Passkey hinzugefügt",
  "passkey.removed": "Passkey entfernt",
  "totp.added": "Authenticator-App hinzugefügt",
  "totp.removed": "Authenticator-App entfernt",
  "recovery_codes.made": "Wiederherstellungscodes erstellt",
  "recovery_codes.used": "Ein Wiederherstellungscode wurde benutzt",
  "recovery_codes.removed": "Wiederherstellungscodes entfernt",
  "address.changed": "E-Mail-Adresse geändert",
  "address.undone": "Änderung der E-Mail-Adresse rückgängig gemacht",
  "identity.linked": "Anbieter verbunden",
  "identity.unlinked": "Anbieter getrennt",
  "account.provisioned": "Konto angelegt",
  "user.sign_up": "Konto angelegt",
  "account.exported": "Daten heruntergeladen",
  "account.deletion_asked": "Löschung des Kontos verlangt",
  "account.restored": "Konto behalten",
  "user.create": "Ein Administrator hat das Konto angelegt",
  "user.update": "Ein Administrator hat das Konto geändert",
  "user.factor_remove": "Ein Administrator hat einen Faktor entfernt",
  "user.session_end": "Ein Administrator hat Sie abgemeldet",
  "user.consent_end": "Ein Administrator hat einer Anwendung den Zugriff entzogen",
  "user.grant_end": "Ein Administrator hat einer Anwendung den Zugriff entzogen",
  "user.export": "Ein Administrator hat Ihre Daten exportiert",
};

/** **Texts of the activity page.** A key with a dot is a type of audit event; events of other types are not shown. */
export const activityMessages: Catalog<ActivityMessageKey> = { en, de };

type EventType = Extract<ActivityMessageKey, `${string}.${string}`>;

export function isShownEvent(type: string): type is EventType {
  return type.includes(".") && Object.hasOwn(en, type);
}
