import type { Catalog } from "@edge-op/pages/translator";
import type { SignInText } from "../step/sign-in-method.ts";

const en = {
  continue: "Continue with {provider}",
  or: "or",
  leave: "Go to {provider}",
  refused: "That sign-in did not work. Try again, or sign in another way.",
  refusedAgain: "That sign-in did not work. Try again, or sign in another way.",
  required: "{client} requires a sign-in with another provider.",
  preferred: "{client} prefers a sign-in with another provider.",
  cancelled: "You did not sign in at {provider}. Try again, or sign in another way.",
  unreachable: "{provider} does not respond. Try again in a moment, or sign in another way.",
  declined: "{provider} refused this sign-in, or asks for something else first. Look there, or sign in another way.",
  failed: "{provider} sent a response that could not be verified. Try again, or sign in another way.",
  unknown: "No account is connected with this sign-in at {provider}.",
  exists: "An account has your address at {provider}. Sign in to it, and you can connect both.",
  elsewhere: "People with your address sign in with {provider}.",
  alsoElsewhere: "People with your address can also sign in with {provider}.",
  linkTitle: "Connect your accounts?",
  linkText: "You can then sign in with either of them.",
  linkAccount: "Your account: {user}",
  linkIdentity: "At {provider}: {label}",
  connect: "Connect them",
  skip: "Not now",
  identities: "Sign-in with other providers",
  identitiesText: "These providers can sign you in.",
  noIdentities: "You have connected no other provider.",
  disconnect: "Disconnect",
  disconnectTitle: "Disconnect this provider?",
  disconnectText: "You can no longer sign in with {label} at {provider}. You are signed out everywhere else.",
  connectWith: "Connect {provider}",
  stale: "{provider} did not confirm that you signed in just now. Sign in another way.",
} as const;

export type UpstreamText = keyof typeof en;

/** **Texts of sign-ins at other providers.** */
export const upstreamMessages: Catalog<UpstreamText | SignInText> = {
  en,
  de: {
    continue: "Weiter mit {provider}",
    or: "oder",
    leave: "Zu {provider}",
    refused: "Diese Anmeldung hat nicht funktioniert. Versuchen Sie es erneut oder melden Sie sich anders an.",
    refusedAgain: "Diese Anmeldung hat nicht funktioniert. Versuchen Sie es erneut oder melden Sie sich anders an.",
    required: "{client} verlangt eine Anmeldung bei einem anderen Anbieter.",
    preferred: "{client} bevorzugt eine Anmeldung bei einem anderen Anbieter.",
    cancelled:
      "Sie haben sich bei {provider} nicht angemeldet. Versuchen Sie es erneut oder melden Sie sich anders an.",
    unreachable: "{provider} antwortet nicht. Versuchen Sie es gleich noch einmal oder melden Sie sich anders an.",
    declined:
      "{provider} hat diese Anmeldung abgelehnt oder verlangt zuerst etwas anderes. Sehen Sie dort nach oder melden Sie sich anders an.",
    failed:
      "Die Antwort von {provider} ließ sich nicht prüfen. Versuchen Sie es erneut oder melden Sie sich anders an.",
    unknown: "Mit dieser Anmeldung bei {provider} ist kein Konto verbunden.",
    exists: "Ein Konto hat Ihre Adresse von {provider}. Melden Sie sich dort an, dann können Sie beide verbinden.",
    elsewhere: "Mit Ihrer Adresse melden Sie sich bei {provider} an.",
    alsoElsewhere: "Mit Ihrer Adresse können Sie sich auch bei {provider} anmelden.",
    linkTitle: "Ihre Konten verbinden?",
    linkText: "Sie können sich dann mit jedem von beiden anmelden.",
    linkAccount: "Ihr Konto: {user}",
    linkIdentity: "Bei {provider}: {label}",
    connect: "Verbinden",
    skip: "Jetzt nicht",
    identities: "Anmeldung mit anderen Anbietern",
    identitiesText: "Mit diesen Anbietern können Sie sich anmelden.",
    noIdentities: "Sie haben keinen anderen Anbieter verbunden.",
    disconnect: "Trennen",
    disconnectTitle: "Diesen Anbieter trennen?",
    disconnectText:
      "Sie können sich dann mit {label} bei {provider} nicht mehr anmelden. Sie werden überall sonst abgemeldet.",
    connectWith: "{provider} verbinden",
    stale: "{provider} hat nicht bestätigt, dass Sie sich gerade angemeldet haben. Melden Sie sich anders an.",
  },
};
