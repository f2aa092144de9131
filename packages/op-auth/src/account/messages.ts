import type { Catalog } from "@edge-op/pages/translator";
import { type MessageKey, messages } from "../pages/messages.ts";

const en = {
  "account.title": "Your account",
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
  "account.noPasswordText": "You have no password. You sign in another way.",
  "account.changePassword": "Change password",
  "account.setPassword": "Set a password",
  "account.appAdded": "Your authenticator app was added. Make recovery codes for the day when you do not have it.",
  "account.factorRemoved": "The factor was removed, and you are signed out everywhere else.",
  "account.lastWayIn": "This passkey is your only way to sign in. Set a password or add another passkey first.",
  "account.identityConnected": "The provider is connected: you can sign in with it.",
  "account.identityNotConnected": "The provider was not connected. Please try again.",
  "account.identityTaken": "That sign-in is connected with an account already.",
  "account.identityDisconnected": "The provider is disconnected, and you are signed out everywhere else.",
  "account.lastIdentity": "This provider is your only way to sign in. Set a password or add a passkey first.",
  "account.passwordChanged": "Your password was changed. You were signed out everywhere else.",
  "account.created": "Added {date}",
  "account.lastUsed": "last used {date}",
  "account.apps": "Applications with access",
  "account.noApps": "No application has access to your account.",
  "account.start": "Open",
  "account.revoke": "Remove access",
  "account.sessions": "Where you are signed in",
  "account.sessionsText":
    "The place is estimated from the network address at sign-in. The address itself is not stored.",
  "account.thisDevice": "This device",
  "account.signedInAt": "Signed in {date}",
  "account.endSession": "Sign out",
  "account.endOthers": "Sign out everywhere else",
  "account.accessRemoved": "The application has no access to your account any more.",
  "account.tooManyChanges": "There were too many changes. Try again in some minutes.",
  "account.sessionEnded": "The device was signed out.",
  "account.othersEnded": "You were signed out everywhere else.",
  "confirm.consent": "Remove access?",
  "confirm.consentText":
    "{client} loses access to your account, including access while you are away. It can request access again.",
  "confirm.passkey": "Remove this passkey?",
  "confirm.passkeyText":
    "You will no longer be able to sign in with “{passkey}”. Your device may still offer it until you delete it there.",
  "confirm.session": "Sign out this device?",
  "confirm.sessionText": "{device} is signed out of {provider} and of the applications used with it.",
  "confirm.others": "Sign out everywhere else?",
  "confirm.othersText":
    "All other devices are signed out of {provider} and of the applications used with it. You stay signed in here.",
  "account.addressChanged": "Your email address was changed. Your previous address was told.",
  "account.addressNotChanged": "Your email address was not changed: it belongs to another account.",
  "account.addressAdded": "The email address was added.",
  "account.addressNotAdded":
    "The email address was not added: it belongs to another account, or you have five already.",
  "account.addressRemoved": "The email address was removed, and was told.",
  "account.address": "Email address",
  "account.noAddress": "You have no email address here.",
  "account.addressConfirmed": "confirmed {date}",
  "account.addressUnconfirmed": "not confirmed",
  "account.addressHeld": "replaced; until {date} the mail that was sent there takes it back",
  "account.addAddress": "Add an email address",
  "account.changeAddress": "Change email address",
  "account.confirmAddress": "Confirm email address",
  "address.title": "Email address",
  "address.text":
    "A code is sent to the address, to confirm that it is yours. With it you can set a new password if you forget yours, and you are told of changes of your account.",
  "address.undo": "Take the change of your address back?",
  "address.undoText":
    "{address} becomes the address of your account again. You are signed out everywhere; sign in then, or set a new password with this address.",
  "address.undoSubmit": "Take it back",
  "address.undone":
    "The change was taken back. You are signed out everywhere. If somebody else changed your address, set a new password now.",
  "address.undoGone":
    "This link is not valid any more: the change was taken back, or it was made more than seven days ago.",
  "address.toAccount": "To your account",
} as const;

const de: Readonly<Record<keyof typeof en, string>> = {
  "account.title": "Ihr Konto",
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
  "account.noPasswordText": "Sie haben kein Passwort. Sie melden sich auf andere Weise an.",
  "account.changePassword": "Passwort ändern",
  "account.setPassword": "Passwort festlegen",
  "account.appAdded":
    "Ihre Authenticator-App wurde hinzugefügt. Erstellen Sie Wiederherstellungscodes für den Tag, an dem Sie sie nicht haben.",
  "account.factorRemoved": "Der Faktor wurde entfernt, und Sie sind überall sonst abgemeldet.",
  "account.lastWayIn":
    "Dieser Passkey ist Ihre einzige Möglichkeit, sich anzumelden. Legen Sie zuerst ein Passwort fest oder fügen Sie einen weiteren Passkey hinzu.",
  "account.identityConnected": "Der Anbieter ist verbunden: Sie können sich damit anmelden.",
  "account.identityNotConnected": "Der Anbieter wurde nicht verbunden. Bitte versuchen Sie es erneut.",
  "account.identityTaken": "Diese Anmeldung ist schon mit einem Konto verbunden.",
  "account.identityDisconnected": "Der Anbieter ist getrennt, und Sie sind überall sonst abgemeldet.",
  "account.lastIdentity":
    "Nur mit diesem Anbieter können Sie sich anmelden. Legen Sie erst ein Passwort fest oder fügen Sie einen Passkey hinzu.",
  "account.passwordChanged": "Ihr Passwort wurde geändert. Überall sonst wurden Sie abgemeldet.",
  "account.created": "Hinzugefügt am {date}",
  "account.lastUsed": "zuletzt benutzt am {date}",
  "account.apps": "Anwendungen mit Zugriff",
  "account.noApps": "Keine Anwendung hat Zugriff auf Ihr Konto.",
  "account.start": "Öffnen",
  "account.revoke": "Zugriff entziehen",
  "account.sessions": "Wo Sie angemeldet sind",
  "account.sessionsText":
    "Der Ort wird bei der Anmeldung aus der Netzwerkadresse geschätzt. Die Adresse selbst wird nicht gespeichert.",
  "account.thisDevice": "Dieses Gerät",
  "account.signedInAt": "Angemeldet am {date}",
  "account.endSession": "Abmelden",
  "account.endOthers": "Überall sonst abmelden",
  "account.accessRemoved": "Die Anwendung hat keinen Zugriff mehr auf Ihr Konto.",
  "account.tooManyChanges": "Es gab zu viele Änderungen. Versuchen Sie es in einigen Minuten noch einmal.",
  "account.sessionEnded": "Das Gerät wurde abgemeldet.",
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
  "account.addressChanged": "Ihre E-Mail-Adresse wurde geändert. Ihre bisherige Adresse wurde benachrichtigt.",
  "account.addressNotChanged": "Ihre E-Mail-Adresse wurde nicht geändert: Sie gehört zu einem anderen Konto.",
  "account.addressAdded": "Die E-Mail-Adresse wurde hinzugefügt.",
  "account.addressNotAdded":
    "Die E-Mail-Adresse wurde nicht hinzugefügt: Sie gehört zu einem anderen Konto, oder Sie haben schon fünf.",
  "account.addressRemoved": "Die E-Mail-Adresse wurde entfernt und benachrichtigt.",
  "account.address": "E-Mail-Adresse",
  "account.noAddress": "Sie haben hier keine E-Mail-Adresse.",
  "account.addressConfirmed": "bestätigt am {date}",
  "account.addressUnconfirmed": "nicht bestätigt",
  "account.addressHeld": "ersetzt; bis zum {date} macht die E-Mail an diese Adresse das rückgängig",
  "account.addAddress": "E-Mail-Adresse hinzufügen",
  "account.changeAddress": "E-Mail-Adresse ändern",
  "account.confirmAddress": "E-Mail-Adresse bestätigen",
  "address.title": "E-Mail-Adresse",
  "address.text":
    "An die Adresse wird ein Code gesendet, um zu bestätigen, dass sie Ihnen gehört. Mit ihr können Sie ein neues Passwort festlegen, wenn Sie Ihres vergessen, und Sie erfahren von Änderungen Ihres Kontos.",
  "address.undo": "Änderung Ihrer Adresse rückgängig machen?",
  "address.undoText":
    "{address} wird wieder die Adresse Ihres Kontos. Sie werden überall abgemeldet; melden Sie sich danach an, oder legen Sie mit dieser Adresse ein neues Passwort fest.",
  "address.undoSubmit": "Rückgängig machen",
  "address.undone":
    "Die Änderung wurde rückgängig gemacht. Sie sind überall abgemeldet. Wenn jemand anderes Ihre Adresse geändert hat, legen Sie jetzt ein neues Passwort fest.",
  "address.undoGone":
    "Dieser Link gilt nicht mehr: Die Änderung wurde rückgängig gemacht, oder sie ist mehr als sieben Tage her.",
  "address.toAccount": "Zu Ihrem Konto",
};

export type AccountText = keyof typeof en | MessageKey;

/** **Texts of the account pages**, with those that several pages share. */
export const accountMessages: Catalog<AccountText> = { en: { ...messages.en, ...en }, de: { ...messages.de, ...de } };
