import { Layout } from "@edge-op/pages/layout";
import { displayName, Person } from "@edge-op/pages/person";
import type { Translator } from "@edge-op/pages/translator";
import type { Resource } from "@edge-op/shared/resources/resource";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import type { Consent } from "@edge-op/shared/users/consents";
import type { Passkey } from "@edge-op/shared/users/credentials";
import type { ListedFactor } from "@edge-op/shared/users/factors";
import type { Identity } from "@edge-op/shared/users/identities";
import type { User } from "@edge-op/shared/users/user";
import type { UserAddress } from "@edge-op/shared/users/user-addresses";
import type { UserSession } from "@edge-op/shared/users/user-sessions";
import { describeAllowance, sortAllowances } from "../pages/allowances.ts";
import { describePlace } from "../pages/describe-place.ts";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { MessageKey } from "../pages/messages.ts";
import { passkeyScript } from "../steps/sign-in/passkey/passkey-script.ts";
import { dateFormat, Item, RemoveLink } from "./account-list.tsx";
import { type AccountNotice, accountNotices } from "./account-notices.ts";
import { AddressSection } from "./address-section.tsx";
import { FactorsSection } from "./factors-section.tsx";
import { IdentitiesSection } from "./identities-section.tsx";

export interface AccountView {
  readonly user: User;
  readonly formToken: string;
  readonly hasPassword: boolean;
  /** Verified ones. */
  readonly addresses: readonly UserAddress[];
  readonly canChangeAddress: boolean;
  readonly passkeys: readonly Passkey[];
  readonly factors: readonly ListedFactor[];
  readonly identities: readonly Identity[];
  readonly upstreams: readonly Upstream[];
  /** Absent if the sign-in is too old to add a passkey. */
  readonly registration: { readonly ceremony: string; readonly options: string } | undefined;
  /** `start`: where a login at the application begins, if it can begin here. */
  readonly consents: readonly (Consent & { readonly name: string; readonly start: string | undefined })[];
  /** The resources that consents name. */
  readonly resources: readonly Resource[];
  readonly sessions: readonly (UserSession & { readonly isThis: boolean })[];
  readonly notice: AccountNotice | undefined;
}

interface Props {
  readonly frame: AuthPageFrame;
  readonly view: AccountView;
}

/** The longest name of a passkey, in UTF-16 code units. */
export const passkeyNameLength = 64;

/** **The account page.** Each removal links to a page that confirms it. */
export function AccountPage({ frame, view }: Props) {
  const { t } = frame;
  const name = displayName(view.user);
  return (
    <Layout {...frame} title={t("account.title")} scripts={[passkeyScript]} wide>
      <div class="head">
        <h1>{t("account.title")}</h1>
        <Person name={name} text={t("account.signedInAs", { user: name })} />
      </div>
      <Notices t={t} notice={view.notice} />
      <AddressSection frame={frame} view={view} />
      <Password t={t} hasPassword={view.hasPassword} />
      <Passkeys frame={frame} view={view} />
      <FactorsSection
        language={t.language}
        factors={view.factors}
        created={(date) => t("account.created", { date })}
        lastUsed={(date) => t("account.lastUsed", { date })}
      />
      <IdentitiesSection
        language={t.language}
        formToken={view.formToken}
        identities={view.identities}
        upstreams={view.upstreams}
        created={(date) => t("account.created", { date })}
        lastUsed={(date) => t("account.lastUsed", { date })}
      />
      <Consents frame={frame} view={view} />
      <Sessions frame={frame} view={view} />
      <p class="links">
        <a href="/logout" id="sign-out">
          {t("home.signOut")}
        </a>
      </p>
    </Layout>
  );
}

/** At most one notice is visible: the script hides the notice of the last action before it shows a failure. */
function Notices({ t, notice }: { readonly t: Translator<MessageKey>; readonly notice: AccountNotice | undefined }) {
  const shown = notice && accountNotices[notice];
  return (
    <>
      {shown && (
        <p class={shown.isGood ? "note good" : "note bad"} role={shown.isGood ? "status" : "alert"} data-notice>
          {t(shown.text)}
        </p>
      )}
      <p class="note bad" role="alert" data-passkey-failure hidden>
        {t("account.passkeyFailed")}
      </p>
      <p class="note bad" role="alert" data-passkey-exists hidden>
        {t("account.passkeyExists")}
      </p>
    </>
  );
}

function Password({ t, hasPassword }: { readonly t: Translator<MessageKey>; readonly hasPassword: boolean }) {
  return (
    <section>
      <h2>{t("account.password")}</h2>
      <p class="muted small">{t(hasPassword ? "account.passwordText" : "account.noPasswordText")}</p>
      <a class="button quiet top" href="/account/password" id="password">
        {t(hasPassword ? "account.changePassword" : "account.setPassword")}
      </a>
    </section>
  );
}

function Passkeys({ frame: { t }, view }: Props) {
  const date = dateFormat(t.language, { dateStyle: "medium" });
  return (
    <section>
      <h2>{t("account.passkeys")}</h2>
      <p class="muted small">{t("account.passkeysText")}</p>
      {view.passkeys.length === 0 && <p class="muted small">{t("account.noPasskeys")}</p>}
      <ul class="list">
        {view.passkeys.map((passkey, index) => {
          const { credentialId, name, createdAtMs, lastUsedAtMs } = passkey;
          return (
            <li>
              <Item title={name}>
                {t("account.created", { date: date(createdAtMs) })}
                {lastUsedAtMs !== undefined && `, ${t("account.lastUsed", { date: date(lastUsedAtMs) })}`}
              </Item>
              <RemoveLink path="/account/passkeys/remove" name="credential_id" value={credentialId} subject={name}>
                {t("account.removePasskey")}
              </RemoveLink>
              <RenamePasskey t={t} view={view} passkey={passkey} id={`passkey-name-${index}`} />
            </li>
          );
        })}
      </ul>
      <AddPasskey t={t} view={view} />
      <noscript>
        <p class="muted small">{t("account.noScript")}</p>
      </noscript>
    </section>
  );
}

function RenamePasskey(props: {
  readonly t: Translator<MessageKey>;
  readonly view: AccountView;
  readonly passkey: Passkey;
  readonly id: string;
}) {
  const { t, view, passkey, id } = props;
  return (
    <details class="rename">
      <summary aria-label={`${t("account.renamePasskey")}: ${passkey.name}`}>{t("account.renamePasskey")}</summary>
      <form method="post" action="/account/passkeys/rename" class="row">
        <input type="hidden" name="form_token" value={view.formToken} />
        <input type="hidden" name="credential_id" value={passkey.credentialId} />
        <label for={id} class="unseen">
          {t("account.passkeyName")}
        </label>
        <input
          id={id}
          name="name"
          type="text"
          value={passkey.name}
          required
          maxlength={passkeyNameLength}
          autocomplete="off"
        />
        <button type="submit" class="quiet slim">
          {t("account.save")}
        </button>
      </form>
    </details>
  );
}

/** Without `registration`, the button leads to a sign-in, which returns to this page. */
function AddPasskey({ t, view }: { readonly t: Translator<MessageKey>; readonly view: AccountView }) {
  const { registration } = view;
  const script = registration ? { "data-passkey": "create", "data-options": registration.options, hidden: true } : {};
  return (
    <form method="post" action="/account/passkeys" class="top" {...script}>
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
        {view.consents.map(({ clientId, name, start, allowed }) => (
          <li>
            <Item title={name}>
              {[...new Set(sortAllowances(allowed).map((item) => describeAllowance(t, item, view.resources)))].join(
                " · ",
              )}
            </Item>
            <span class="row">
              {start && (
                <a
                  class="button quiet slim"
                  href={start}
                  aria-label={`${t("account.start")}: ${name}`}
                  data-start={clientId}
                >
                  {t("account.start")}
                </a>
              )}
              <RemoveLink path="/account/consents/remove" name="client_id" value={clientId} subject={name}>
                {t("account.revoke")}
              </RemoveLink>
            </span>
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
      <p class="muted small">{t("account.sessionsText")}</p>
      <ul class="list">
        {view.sessions.map((session) => {
          const at = t("account.signedInAt", { date: date(session.signedInAtMs) });
          const place = describePlace(t.language, session);
          const details = [session.isThis ? t("account.thisDevice") : undefined, place, at];
          return (
            <li>
              <Item title={session.device}>{details.filter(Boolean).join(" · ")}</Item>
              <RemoveLink path="/account/sessions/end" name="sid" value={session.sid} subject={session.device}>
                {t("account.endSession")}
              </RemoveLink>
            </li>
          );
        })}
      </ul>
      {view.sessions.some(({ isThis }) => !isThis) && (
        <a class="button quiet top" href="/account/sessions/end-others" id="end-others">
          {t("account.endOthers")}
        </a>
      )}
    </section>
  );
}
