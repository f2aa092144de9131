import type { Catalog } from "@edge-op/pages/translator";
import type { SignInText } from "../../../step/sign-in-method.ts";

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
