import type { Catalog } from "@edge-op/pages/translator";
import type { SignInText } from "../../../step/sign-in-method.ts";

/** **Texts of the password form.** */
export const passwordMessages: Catalog<SignInText | "username" | "password" | "submit"> = {
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
