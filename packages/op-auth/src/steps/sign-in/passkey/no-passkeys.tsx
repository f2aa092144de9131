import type { Language } from "@edge-op/pages/languages";
import { createTranslator } from "@edge-op/pages/translator";
import { passkeyMessages } from "./messages.ts";

/** **Why a page offers no passkey**, in a browser without WebAuthn: the script shows it in place of the button. */
export function NoPasskeys({ language }: { readonly language: Language }) {
  return (
    <p class="muted small" data-no-passkeys hidden>
      {createTranslator(passkeyMessages, language)("unsupported")}
    </p>
  );
}
