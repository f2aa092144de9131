import { ClientMark, Layout, type PageFrame } from "./layout.tsx";

export interface SignInView {
  readonly action: string;
  readonly formToken: string;
  /** Absent when someone signs in to their account pages. */
  readonly client: { readonly name: string; readonly logoUri: string | undefined } | undefined;
  readonly username: string | undefined;
  readonly problem:
    | { readonly kind: "wrong" | "wrongPasskey" | "passkeyNeeded" }
    | { readonly kind: "throttled"; readonly seconds: number }
    | undefined;
  /** WebAuthn request options, JSON. */
  readonly passkeyOptions: string;
  readonly passwordAllowed: boolean;
  readonly isRepeated: boolean;
}

/** **Sign in**: by password, or by passkey from the field's autofill or the button, which a script brings out. */
export function SignInPage({ frame, view }: { readonly frame: PageFrame; readonly view: SignInView }) {
  const { t } = frame;
  const { client, problem } = view;
  return (
    <Layout {...frame} title={t("signIn.title")} script="passkey.js">
      <div class="head">
        {client && <ClientMark name={client.name} logoUri={client.logoUri} />}
        <h1>{t("signIn.title")}</h1>
        {client && <p class="muted">{t("signIn.to", { client: client.name })}</p>}
        {view.isRepeated && !problem && <p class="muted small">{t("signIn.again")}</p>}
      </div>
      {problem && (
        <p class="note bad" role="alert" id="problem">
          {describe(frame, view)}
        </p>
      )}
      <p class="note bad" role="alert" data-passkey-failure hidden>
        {t("signIn.wrongPasskey")}
      </p>
      {view.passwordAllowed && <PasswordForm frame={frame} view={view} />}
      <div class="actions">
        {view.passwordAllowed && (
          <p class="or" data-with-passkey hidden>
            {t("signIn.or")}
          </p>
        )}
        <form method="post" action={view.action} data-passkey="get" data-options={view.passkeyOptions} hidden>
          <input type="hidden" name="form_token" value={view.formToken} />
          <input type="hidden" name="credential" value="" />
          <button type="submit" class={view.passwordAllowed ? "quiet" : ""} id="passkey">
            {t("signIn.passkey")}
          </button>
        </form>
        {client && (
          <form method="post" action={view.action}>
            <input type="hidden" name="form_token" value={view.formToken} />
            <button type="submit" class="plain" name="cancel" value="1" id="cancel">
              {t("signIn.cancel")}
            </button>
          </form>
        )}
      </div>
    </Layout>
  );
}

function PasswordForm({ frame: { t }, view }: { readonly frame: PageFrame; readonly view: SignInView }) {
  const isWrong = view.problem?.kind === "wrong";
  const invalid = isWrong ? { "aria-invalid": "true" as const, "aria-describedby": "problem" } : {};
  return (
    <form method="post" action={view.action}>
      <input type="hidden" name="form_token" value={view.formToken} />
      <label for="username">{t("signIn.username")}</label>
      <input
        id="username"
        name="username"
        type="text"
        autocomplete="username webauthn"
        autocapitalize="none"
        spellcheck={false}
        required
        maxlength={256}
        value={view.username ?? ""}
        autofocus={!view.username}
        {...invalid}
      />
      <label for="password">{t("signIn.password")}</label>
      <input
        id="password"
        name="password"
        type="password"
        autocomplete="current-password"
        required
        maxlength={1024}
        autofocus={Boolean(view.username)}
        {...invalid}
      />
      <div class="actions">
        <button type="submit" id="sign-in">
          {t("signIn.submit")}
        </button>
      </div>
    </form>
  );
}

function describe({ t }: PageFrame, { problem, client }: SignInView): string {
  switch (problem?.kind) {
    case "throttled":
      return t("signIn.throttled", { seconds: String(problem.seconds) });
    case "wrongPasskey":
      return t("signIn.wrongPasskey");
    case "passkeyNeeded":
      return t("signIn.passkeyNeeded", { client: client?.name ?? "" });
    default:
      return t("signIn.wrong");
  }
}
