import type { Consent, UserSession } from "@edge-op/shared/directory/consents";
import type { Passkey } from "@edge-op/shared/directory/credentials";
import type { User } from "@edge-op/shared/directory/user";
import { describeAllowance, displayName, Person } from "./consent-page.tsx";
import { Layout, type PageFrame } from "./layout.tsx";

export interface AccountView {
  readonly user: User;
  readonly formToken: string;
  readonly passkeys: readonly Passkey[];
  /** Absent when the sign-in is too old to add one. */
  readonly registration: { readonly ceremony: string; readonly options: string } | undefined;
  readonly consents: readonly (Consent & { readonly name: string })[];
  readonly sessions: readonly (UserSession & { readonly isThis: boolean })[];
  readonly notice: string | undefined;
}

interface Props {
  readonly frame: PageFrame;
  readonly view: AccountView;
}

/** **A person's own page.** */
export function AccountPage({ frame, view }: Props) {
  const { t } = frame;
  const name = displayName(view.user);
  return (
    <Layout {...frame} title={t("account.title")} script="passkey.js" wide>
      <div class="head">
        <h1>{t("account.title")}</h1>
        <Person name={name} text={t("account.signedInAs", { user: name })} />
      </div>
      {view.notice === "passkey-added" && (
        <p class="note good" role="status">
          {t("account.passkeyAdded")}
        </p>
      )}
      <p class="note bad" role="alert" data-passkey-failure hidden={view.notice !== "passkey-failed"}>
        {t("account.passkeyFailed")}
      </p>
      <Passkeys frame={frame} view={view} />
      <Consents frame={frame} view={view} />
      <Sessions frame={frame} view={view} />
    </Layout>
  );
}

function Passkeys({ frame: { t }, view }: Props) {
  const date = dateFormat(t.language, { dateStyle: "medium" });
  return (
    <section>
      <h2>{t("account.passkeys")}</h2>
      <p class="muted small">{t("account.passkeysText")}</p>
      <ul class="list">
        {view.passkeys.map(({ credentialId, name, createdAtMs, lastUsedAtMs }) => (
          <li>
            <div>
              <strong>{name}</strong>
              <p class="muted small">
                {t("account.created", { date: date(createdAtMs) })}
                {lastUsedAtMs !== undefined && `, ${t("account.lastUsed", { date: date(lastUsedAtMs) })}`}
              </p>
            </div>
            <RowForm view={view} action="/account/passkeys/remove" name="credential_id" value={credentialId}>
              {t("account.removePasskey")}
            </RowForm>
          </li>
        ))}
      </ul>
      <AddPasskey frame={{ t }} view={view} />
      <noscript>
        <p class="muted small">{t("account.noScript")}</p>
      </noscript>
    </section>
  );
}

/** Without a registration the button leads to signing in again, and back. */
function AddPasskey({ frame: { t }, view }: { readonly frame: Pick<PageFrame, "t">; readonly view: AccountView }) {
  const { registration } = view;
  const script = registration ? { "data-passkey": "create", "data-options": registration.options, hidden: true } : {};
  return (
    <form method="post" action="/account/passkeys" class="actions" {...script}>
      <input type="hidden" name="form_token" value={view.formToken} />
      <input type="hidden" name="ceremony" value={registration?.ceremony ?? ""} />
      <input type="hidden" name="credential" value="" />
      <button type="submit" class="quiet" id="add-passkey">
        {t("account.addPasskey")}
      </button>
    </form>
  );
}

function Consents({ frame: { t }, view }: Props) {
  return (
    <section>
      <h2>{t("account.apps")}</h2>
      {view.consents.length === 0 && <p class="muted small">{t("account.noApps")}</p>}
      <ul class="list">
        {view.consents.map(({ clientId, name, allowed }) => (
          <li>
            <div>
              <strong>{name}</strong>
              <p class="muted small">{allowed.map((item) => describeAllowance(t, item)).join(" · ")}</p>
            </div>
            <RowForm view={view} action="/account/consents" name="client_id" value={clientId}>
              {t("account.revoke")}
            </RowForm>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Sessions({ frame: { t }, view }: Props) {
  const date = dateFormat(t.language, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });
  return (
    <section>
      <h2>{t("account.sessions")}</h2>
      <ul class="list">
        {view.sessions.map(({ sid, device, signedInAtMs, isThis }) => (
          <li>
            <div>
              <strong>{device}</strong>
              <p class="muted small">{isThis ? t("account.thisDevice") : `${date(signedInAtMs)} UTC`}</p>
            </div>
            <RowForm view={view} action="/account/sessions" name="sid" value={sid}>
              {t("account.endSession")}
            </RowForm>
          </li>
        ))}
      </ul>
    </section>
  );
}

function RowForm(props: {
  readonly view: AccountView;
  readonly action: string;
  readonly name: string;
  readonly value: string;
  readonly children?: string;
}) {
  return (
    <form method="post" action={props.action}>
      <input type="hidden" name="form_token" value={props.view.formToken} />
      <button type="submit" class="slim danger" name={props.name} value={props.value}>
        {props.children}
      </button>
    </form>
  );
}

function dateFormat(language: string, options: Intl.DateTimeFormatOptions): (atMs: number) => string {
  const format = new Intl.DateTimeFormat(language === "en" ? "en-GB" : language, options);
  return (atMs) => format.format(atMs);
}
