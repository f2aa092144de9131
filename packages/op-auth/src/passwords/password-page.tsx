import { Layout } from "@edge-op/pages/layout";
import { Person } from "@edge-op/pages/person";
import { mostPasswordCharacters, type PasswordFault } from "@edge-op/shared/secrets/password-policy";
import type { AuthPageFrame } from "../pages/frame.ts";
import { HiddenFields } from "../pages/hidden-fields.tsx";

export interface PasswordView {
  readonly form: { readonly action: string; readonly fields: Readonly<Record<string, string>> };
  /** Why the person chooses a password, and what follows. */
  readonly text: string;
  /** Where a person leaves without a change; absent in a flow, in which there is nothing to go back to. */
  readonly cancelTo: string | undefined;
  readonly name: string;
  /** Whether the person is signed in as `name`. */
  readonly isSignedIn: boolean;
  readonly username: string;
  readonly hasPassword: boolean;
  /** False after a recent sign-in by passkey. */
  readonly needsCurrent: boolean;
  /** The minimum and maximum length of a new password, in characters. */
  readonly min: number;
  readonly problem: PasswordProblem | undefined;
}

export type PasswordProblem =
  | { readonly kind: "wrongCurrent" | "differ" | PasswordFault }
  | { readonly kind: "throttled"; readonly seconds: number };

/** **The form that changes the password.** It contains the username because password managers store passwords by username. */
export function PasswordPage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: PasswordView }) {
  const { t } = frame;
  const title = t(view.hasPassword ? "password.title" : "password.titleSet");
  const wrongCurrent = view.problem?.kind === "wrongCurrent" ? invalid : {};
  const isNewWrong = view.problem !== undefined && !["wrongCurrent", "throttled"].includes(view.problem.kind);
  const wrongNew = isNewWrong ? invalid : {};
  return (
    <Layout {...frame} title={title} account={view.cancelTo !== undefined}>
      <div class="head">
        <h1>{title}</h1>
        <Person name={view.name} text={view.isSignedIn ? t("account.signedInAs", { user: view.name }) : view.name} />
        <p class="muted small">{view.text}</p>
      </div>
      {view.problem && (
        <p class="note bad" role="alert" id="problem">
          {describe(frame, view.problem, view.min)}
        </p>
      )}
      <form method="post" action={view.form.action}>
        <HiddenFields fields={view.form.fields} />
        <div hidden>
          <label for="username">{t("password.username")}</label>
          <input id="username" name="username" type="text" value={view.username} autocomplete="username" readonly />
        </div>
        {view.needsCurrent && (
          <>
            <label for="current">{t("password.current")}</label>
            <input
              id="current"
              name="current"
              type="password"
              autocomplete="current-password"
              required
              maxlength={1024}
              autofocus
              {...wrongCurrent}
            />
          </>
        )}
        <NewPassword id="new" min={view.min} label={t("password.new")} invalid={wrongNew} />
        <p class="muted small" id="new-hint">
          {t("password.hint", { min: String(view.min) })}
        </p>
        <NewPassword id="repeat" min={view.min} label={t("password.repeat")} invalid={wrongNew} />
        <div class="actions">
          <button type="submit" id="change-password">
            {t(view.hasPassword ? "password.submit" : "password.submitSet")}
          </button>
          {view.cancelTo && (
            <a class="button quiet" href={view.cancelTo} id="cancel">
              {t("confirm.cancel")}
            </a>
          )}
        </div>
      </form>
    </Layout>
  );
}

const invalid = { "aria-invalid": "true", "aria-describedby": "problem" } as const;

function NewPassword({
  id,
  min,
  label,
  invalid: attributes,
}: {
  readonly id: "new" | "repeat";
  readonly min: number;
  readonly label: string;
  readonly invalid: Partial<typeof invalid>;
}) {
  return (
    <>
      <label for={id}>{label}</label>
      <input
        id={id}
        name={id}
        type="password"
        autocomplete="new-password"
        required
        minlength={min}
        maxlength={1024}
        {...(id === "new" ? { "aria-describedby": "new-hint" } : {})}
        {...attributes}
      />
    </>
  );
}

function describe({ t }: AuthPageFrame, problem: PasswordProblem, min: number): string {
  switch (problem.kind) {
    case "throttled":
      return t("signIn.throttled", { seconds: String(problem.seconds) });
    case "tooShort":
      return t("password.tooShort", { min: String(min) });
    case "tooLong":
      return t("password.tooLong", { max: String(mostPasswordCharacters) });
    default:
      return t(`password.${problem.kind}`);
  }
}
