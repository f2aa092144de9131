import { displayName } from "@edge-op/pages/person";
import { HiddenFields } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { SignedInPerson } from "./signed-in-person.ts";

export const choosePath = "/account/choose";

/** The path to the page with the accounts, which leads on to `to`. */
export function pathToChoose(to: string): string {
  return `${choosePath}?${new URLSearchParams({ to })}`;
}

/** The purpose of the form token that is bound to the browser: its accounts change with each form. */
export const accountsForm = "accounts";

interface ListForm {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** **The accounts of this browser**, each a button that goes on with it, and one that signs it out. */
export function AccountList(props: {
  readonly frame: AuthPageFrame;
  readonly people: readonly SignedInPerson[];
  readonly activeId: string | undefined;
  readonly choosing: ListForm;
  readonly signingOut: ListForm;
}) {
  const { frame, people, activeId, choosing, signingOut } = props;
  const { t } = frame;
  return (
    <ul class="list accounts">
      {people.map(({ user, sessionId }) => {
        const name = displayName(user);
        const other = user.claims.email ?? user.username;
        const isActive = sessionId === activeId;
        return (
          <li>
            <form method="post" action={choosing.action}>
              {/* The previous release takes the active account, or lets the person sign in to another one. */}
              <HiddenFields fields={{ ...choosing.fields, account: isActive ? "current" : "other" }} />
              <button
                type="submit"
                name="choose"
                value={user.sub}
                class="quiet pick"
                id={isActive ? "current-account" : undefined}
              >
                <span class="avatar" aria-hidden="true">
                  {[...name][0]?.toUpperCase()}
                </span>
                <span>
                  <strong>{name}</strong>
                  {other !== name && <span class="muted small">{other}</span>}
                </span>
              </button>
            </form>
            <form method="post" action={signingOut.action}>
              <HiddenFields fields={signingOut.fields} />
              <button
                type="submit"
                name="sign-out"
                value={user.sub}
                class="link"
                aria-label={`${t("home.signOut")}: ${name}`}
              >
                {t("home.signOut")}
              </button>
            </form>
          </li>
        );
      })}
    </ul>
  );
}

/** **A button that goes on with an account that the browser does not have yet.** */
export function OtherAccountForm({ frame: { t }, form }: { readonly frame: AuthPageFrame; readonly form: ListForm }) {
  return (
    <form method="post" action={form.action} class="actions">
      <HiddenFields fields={form.fields} />
      <button type="submit" name="account" value="other" class="quiet" id="other-account">
        {t("select.other")}
      </button>
    </form>
  );
}
