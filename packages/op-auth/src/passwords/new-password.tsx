import { describeWait } from "@edge-op/pages/describe-values";
import { mostPasswordCharacters, type PasswordFault } from "@edge-op/shared/secrets/password-policy";
import type { Child } from "hono/jsx";
import { invalidIf } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { AuthTranslator } from "../pages/messages.ts";

/** Why a password was not accepted. */
export type PasswordProblem =
  | { readonly kind: "wrongCurrent" | "differ" | "temporary" | PasswordFault }
  | { readonly kind: "throttled"; readonly seconds: number };

/** **A field for a new password.** */
export function NewPassword({
  id,
  min,
  label,
  isInvalid,
  children,
  autofocus = false,
}: {
  readonly id: "new" | "repeat";
  readonly min: number;
  readonly label: string;
  readonly isInvalid: boolean;
  /** A button inside the field. */
  readonly children?: Child;
  readonly autofocus?: boolean;
}) {
  return (
    <>
      <label for={id}>{label}</label>
      <div class={children === undefined ? "" : "secret-field"}>
        <input
          id={id}
          name={id}
          type="password"
          autocomplete="new-password"
          required
          minlength={min}
          maxlength={1024}
          autofocus={autofocus}
          {...(id === "new" ? { "aria-describedby": "new-hint" } : {})}
          {...invalidIf(isInvalid)}
        />
        {children}
      </div>
    </>
  );
}

export function describeProblem(frame: AuthPageFrame, problem: PasswordProblem, min: number): string {
  const { t } = frame;
  switch (problem.kind) {
    case "throttled":
      return t("signIn.throttled", { wait: describeWait(frame.t.language, problem.seconds) });
    case "tooShort":
      return t("password.tooShort", { min });
    case "tooLong":
      return t("password.tooLong", { max: mostPasswordCharacters });
    default:
      return t(`password.${problem.kind}`);
  }
}

/**
 * **A button that shows the passwords of its form as text** (NIST SP 800-63B-4 §3.1.1.2): in a `secret-field` short and inside the field. Hidden
 * without the script of every page (assets.ts).
 */
export function ShowPassword({ t }: { readonly t: AuthTranslator }) {
  return (
    <button type="button" class="link" data-show hidden aria-pressed="false" aria-label={t("password.show")}>
      {t("password.showShort")}
    </button>
  );
}
