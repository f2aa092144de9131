import { createTranslator } from "@edge-op/pages/translator";
import type { AuthPageFrame } from "../pages/frame.ts";
import { passwordMessages } from "./messages.ts";

/** **A button that shows the passwords of its form as text** (NIST SP 800-63B-4 §3.1.1.2). Hidden without the script of every page (assets.ts). */
export function ShowPassword({ language }: { readonly language: AuthPageFrame["t"]["language"] }) {
  return (
    <button type="button" class="link" data-show hidden aria-pressed="false">
      {createTranslator(passwordMessages, language)("password.show")}
    </button>
  );
}
