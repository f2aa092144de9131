import type { Catalog } from "@edge-op/pages/translator";

const en = {
  offer: "Create an account",
  title: "Create your account",
  to: "to continue to {client}",
  toProvider: "at {provider}",
  name: "Your name",
  address: "Email address",
  submit: "Continue",
  hasAccount: "I have an account",
  badName: "Enter your name, of at most 100 characters.",
  badDomain: "An account here requires an email address of {domains}.",
  taken: "You already have an account",
  takenText: "{address} belongs to an account. Sign in to it.",
  signIn: "Sign in",
  methodTitle: "How do you want to sign in?",
  methodText: "A passkey signs you in with your fingerprint, face or device PIN. It cannot be guessed or phished.",
  passwordText: "Choose a password for your account.",
  passkey: "Create a passkey",
  or: "or",
  username: "Account",
  password: "Password",
  create: "Create the account",
  noScript: "A passkey requires JavaScript, which is turned off in this browser.",
  passkeyFailed: "The passkey was not created. Please try again.",
  closed: "No new accounts can be created here at the moment.",
  invited: "You are invited to {provider}.",
  ended: "This invitation has ended",
  endedText:
    "It was used or withdrawn, or it is older than seven days. Ask for a new one, or sign in if you have an account.",
} as const;

export type SignUpText = keyof typeof en;

/** **Texts of signing up and of invitations.** */
export const signUpMessages: Catalog<SignUpText> = {
  en,
  de: {
    offer: "Konto erstellen",
    title: "Konto erstellen",
    to: "um zu {client} weiterzugehen",
    toProvider: "bei {provider}",
    name: "Ihr Name",
    address: "E-Mail-Adresse",
    submit: "Weiter",
    hasAccount: "Ich habe schon ein Konto",
    badName: "Geben Sie Ihren Namen ein, höchstens 100 Zeichen.",
    badDomain: "Für ein Konto brauchen Sie hier eine E-Mail-Adresse von {domains}.",
    taken: "Sie haben schon ein Konto",
    takenText: "{address} gehört zu einem Konto. Melden Sie sich dort an.",
    signIn: "Anmelden",
    methodTitle: "Wie möchten Sie sich anmelden?",
    methodText:
      "Mit einem Passkey melden Sie sich mit Fingerabdruck, Gesicht oder Geräte-PIN an. Er lässt sich weder erraten noch abfangen.",
    passwordText: "Wählen Sie ein Passwort für Ihr Konto.",
    passkey: "Passkey erstellen",
    or: "oder",
    username: "Konto",
    password: "Passwort",
    create: "Konto erstellen",
    noScript: "Für einen Passkey ist JavaScript nötig, das in diesem Browser ausgeschaltet ist.",
    passkeyFailed: "Der Passkey wurde nicht erstellt. Bitte versuchen Sie es noch einmal.",
    closed: "Derzeit können hier keine neuen Konten erstellt werden.",
    invited: "Sie sind zu {provider} eingeladen.",
    ended: "Diese Einladung gilt nicht mehr",
    endedText:
      "Sie wurde benutzt oder zurückgezogen, oder sie ist älter als sieben Tage. Bitten Sie um eine neue, oder melden Sie sich an, wenn Sie ein Konto haben.",
  },
};
