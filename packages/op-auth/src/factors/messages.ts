import type { Catalog } from "@edge-op/pages/translator";
import type { SignInText } from "../step/sign-in-method.ts";

const en = {
  title: "Confirm with a second factor",
  text: "You have entered your password. Now confirm that it is you.",
  recoverText:
    "You have confirmed your email address. Your account also has a second factor: confirm it before you choose a new password.",
  recoverOther:
    "You have confirmed your email address. That alone does not open your account: sign in as you usually do, or ask your administrator.",
  code: "Code of your authenticator app",
  submit: "Confirm",
  recovery: "Use a recovery code",
  recoveryCode: "Recovery code",
  remember: "Do not ask again in this browser for {days, plural, one {# day} other {# days}}",
  refused: "That code is not valid. Enter the code that the app shows now, or a recovery code that you have not used.",
  refusedPasskey: "That passkey did not work. Try again.",
  other: "Use another account",
  enrolTitle: "Set up a second factor",
  enrolText: "Your sign-in needs a second factor. Set up an authenticator app on your phone.",
  setUpTitle: "Add an authenticator app",
  setUpText: "The app shows a new code every 30 seconds. You enter it after your password.",
  scan: "Scan this code with the app.",
  qr: "QR code with the key for your app",
  openApp: "Open the app on this device",
  key: "Or type this key:",
  confirmCode: "Code that the app shows now",
  add: "Add the app",
  setUpRefused: "That code does not belong to this key. Enter the code that the app shows now.",
  back: "Back",
  factors: "Second factors",
  factorsText: "After your password, a second factor confirms that it is you. A passkey needs none.",
  app: "Authenticator app",
  codes: "Recovery codes",
  remaining: "{count} unused",
  noFactors: "You have not set up an authenticator app.",
  addApp: "Add an authenticator app",
  makeCodes: "Make recovery codes",
  renewCodes: "Replace the recovery codes",
  remove: "Remove",
  removeApp: "Remove this authenticator app?",
  removeAppText:
    "You will no longer be asked for its codes. You are signed out everywhere else, and all browsers ask for a second factor again.",
  removeCodes: "Remove your recovery codes?",
  removeCodesText: "The codes that you saved stop working.",
  codesTitle: "Your recovery codes",
  codesText: "Each code works once in place of a code of your app. Save them now: they are not shown again.",
  makeText:
    "Recovery codes let you sign in with your password when you do not have your phone. Codes that you made before stop working.",
  download: "Download as text",
  done: "I have saved the codes",
  firstCodesText:
    "Save these codes now. Each works once in place of a code of your app, in case you do not have your phone.",
  newCodesText:
    "You have used a recovery code. Save these new ones: once you confirm that, the old ones stop working. Each works once.",
  withoutCodes: "Continue without recovery codes",
  keepCodes: "Keep the old codes",
} as const;

export type FactorText = keyof typeof en;

/** **Texts of second factors**: the pages of their steps, and their parts of the account page. */
export const factorMessages: Catalog<FactorText> = {
  en,
  de: {
    title: "Mit zweitem Faktor bestätigen",
    text: "Sie haben Ihr Passwort eingegeben. Bestätigen Sie nun, dass Sie es sind.",
    recoverText:
      "Sie haben Ihre E-Mail-Adresse bestätigt. Ihr Konto hat auch einen zweiten Faktor: Bestätigen Sie ihn, bevor Sie ein neues Passwort wählen.",
    recoverOther:
      "Sie haben Ihre E-Mail-Adresse bestätigt. Das allein öffnet Ihr Konto nicht: Melden Sie sich an wie sonst, oder fragen Sie Ihren Administrator.",
    code: "Code Ihrer Authenticator-App",
    submit: "Bestätigen",
    recovery: "Wiederherstellungscode verwenden",
    recoveryCode: "Wiederherstellungscode",
    remember: "In diesem Browser {days, plural, one {# Tag} other {# Tage}} lang nicht mehr fragen",
    refused:
      "Dieser Code ist nicht gültig. Geben Sie den Code ein, den die App jetzt zeigt, oder einen unbenutzten Wiederherstellungscode.",
    refusedPasskey: "Dieser Passkey hat nicht funktioniert. Versuchen Sie es erneut.",
    other: "Anderes Konto verwenden",
    enrolTitle: "Zweiten Faktor einrichten",
    enrolText: "Ihre Anmeldung braucht einen zweiten Faktor. Richten Sie eine Authenticator-App auf Ihrem Telefon ein.",
    setUpTitle: "Authenticator-App hinzufügen",
    setUpText: "Die App zeigt alle 30 Sekunden einen neuen Code. Sie geben ihn nach Ihrem Passwort ein.",
    scan: "Scannen Sie diesen Code mit der App.",
    qr: "QR-Code mit dem Schlüssel für Ihre App",
    openApp: "App auf diesem Gerät öffnen",
    key: "Oder tippen Sie diesen Schlüssel ein:",
    confirmCode: "Code, den die App jetzt zeigt",
    add: "App hinzufügen",
    setUpRefused: "Dieser Code gehört nicht zu diesem Schlüssel. Geben Sie den Code ein, den die App jetzt zeigt.",
    back: "Zurück",
    factors: "Zweite Faktoren",
    factorsText: "Nach Ihrem Passwort bestätigt ein zweiter Faktor, dass Sie es sind. Ein Passkey braucht keinen.",
    app: "Authenticator-App",
    codes: "Wiederherstellungs\u00ADcodes",
    remaining: "{count} unbenutzt",
    noFactors: "Sie haben keine Authenticator-App eingerichtet.",
    addApp: "Authenticator-App hinzufügen",
    makeCodes: "Wiederherstellungs\u00ADcodes erstellen",
    renewCodes: "Wiederherstellungs\u00ADcodes ersetzen",
    remove: "Entfernen",
    removeApp: "Diese Authenticator-App entfernen?",
    removeAppText:
      "Sie werden nicht mehr nach ihren Codes gefragt. Sie werden überall sonst abgemeldet, und alle Browser fragen wieder nach einem zweiten Faktor.",
    removeCodes: "Wiederherstellungs\u00ADcodes entfernen?",
    removeCodesText: "Die gespeicherten Codes gelten dann nicht mehr.",
    codesTitle: "Ihre Wiederherstellungs\u00ADcodes",
    codesText:
      "Jeder Code gilt einmal anstelle eines Codes Ihrer App. Speichern Sie die Codes jetzt: Sie werden nicht noch einmal gezeigt.",
    makeText:
      "Mit Wiederherstellungscodes melden Sie sich mit Ihrem Passwort an, wenn Sie Ihr Telefon nicht haben. Früher erstellte Codes gelten dann nicht mehr.",
    download: "Als Text herunterladen",
    done: "Ich habe die Codes gespeichert",
    firstCodesText:
      "Speichern Sie diese Codes jetzt. Jeder gilt einmal anstelle eines Codes Ihrer App, für den Tag, an dem Sie Ihr Telefon nicht haben.",
    newCodesText:
      "Sie haben einen Wiederherstellungscode benutzt. Speichern Sie diese neuen Codes: Sobald Sie das bestätigen, gelten die alten nicht mehr. Jeder gilt einmal.",
    withoutCodes: "Ohne Wiederherstellungscodes fortfahren",
    keepCodes: "Alte Codes behalten",
  },
};

/** **Texts of the passkey button.** */
export const passkeyMessages: Catalog<SignInText | "submit" | "or" | "unsupported"> = {
  en: {
    submit: "Sign in with a passkey",
    or: "or",
    unsupported: "This browser does not support passkeys. Use another browser or device.",
    refused: "That passkey did not work. Try again, or use your password.",
    refusedAgain: "That passkey did not work. Try again, or use your password.",
    required: "{client} requires a passkey.",
    preferred: "{client} prefers a sign-in with a passkey.",
  },
  de: {
    submit: "Mit Passkey anmelden",
    or: "oder",
    unsupported:
      "Dieser Browser unterstützt keine Passkeys. Verwenden Sie einen anderen Browser oder ein anderes Gerät.",
    refused: "Dieser Passkey hat nicht funktioniert. Versuchen Sie es erneut oder nutzen Sie Ihr Passwort.",
    refusedAgain: "Dieser Passkey hat nicht funktioniert. Versuchen Sie es erneut oder nutzen Sie Ihr Passwort.",
    required: "{client} verlangt einen Passkey.",
    preferred: "{client} bevorzugt eine Anmeldung mit einem Passkey.",
  },
};
