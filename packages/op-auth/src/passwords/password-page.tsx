import { Layout } from "@edge-op/pages/layout";
import { Person } from "@edge-op/pages/person";
import { HiddenFields, invalidIf } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import { describeProblem, NewPassword, type PasswordProblem, ShowPassword } from "./new-password.tsx";

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

/** **The form that changes the password.** It contains the username because password managers store passwords by username. */
export function PasswordPage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: PasswordView }) {
  const { t } = frame;
  const title = t(view.hasPassword ? "password.title" : "password.titleSet");
  const isNewWrong = view.problem !== undefined && !["wrongCurrent", "throttled"].includes(view.problem.kind);
  return (
    <Layout {...frame} title={title} account={view.cancelTo !== undefined}>
      <div class="head">
        <h1>{title}</h1>
        <Person name={view.name} text={view.isSignedIn ? t("account.signedInAs", { user: view.name }) : view.name} />
        <p class="muted small">{view.text}</p>
      </div>
      {view.problem && (
        <p class="note bad" role="alert" id="problem">
          {describeProblem(frame, view.problem, view.min)}
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
              {...invalidIf(view.problem?.kind === "wrongCurrent")}
            />
          </>
        )}
        <NewPassword
          id="new"
          min={view.min}
          label={t("password.new")}
          isInvalid={isNewWrong}
          autofocus={!view.needsCurrent}
        />
        <p class="muted small" id="new-hint">
          {t("password.hint", { min: view.min })}
        </p>
        <NewPassword id="repeat" min={view.min} label={t("password.repeat")} isInvalid={isNewWrong} />
        <ShowPassword t={t} />
        <div class="actions">
          <button type="submit" id="change-password">
            {t(view.hasPassword ? "password.submit" : "password.submitSet")}
          </button>
          {view.cancelTo && (
            <a class="button quiet" href={view.cancelTo} id="cancel">
              {t("flow.cancel")}
            </a>
          )}
        </div>
      </form>
    </Layout>
  );
}
