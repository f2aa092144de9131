import { Layout } from "@edge-op/pages/layout";
import { displayName, Person } from "@edge-op/pages/person";
import type { Resource } from "@edge-op/shared/resources/resource";
import type { UserSession } from "@edge-op/shared/sessions/user-sessions";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import type { Passkey } from "@edge-op/shared/users/credentials";
import type { ListedFactor } from "@edge-op/shared/users/factors";
import type { Identity } from "@edge-op/shared/users/identities";
import type { User } from "@edge-op/shared/users/user";
import type { UserAddress } from "@edge-op/shared/users/user-addresses";
import { NoPasskeys, PasskeySignal, type Signal } from "../factors/passkey-parts.tsx";
import { passkeyScript } from "../factors/passkey-script.ts";
import { describePlace, type PersonalDates } from "../pages/describe-values.ts";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { AuthTranslator } from "../pages/messages.ts";
import type { Agreement } from "../session/agreed-terms.ts";
import { AgreedTerms } from "../terms/terms-parts.tsx";
import { type AccountNotice, accountNotices } from "./account-notices.ts";
import { Item, RemoveLink } from "./account-parts.tsx";
import { AddressSection } from "./address-section.tsx";
import { ApplicationsSection, type DescribedApplication } from "./applications-section.tsx";
import { DataSection } from "./download-data.tsx";
import { FactorsSection } from "./factors-section.tsx";
import { IdentitiesSection } from "./identities.tsx";
import { NameSection } from "./name-section.tsx";

export interface AccountView {
  readonly user: User;
  readonly formToken: string;
  readonly hasPassword: boolean;
  /** Verified ones. */
  readonly addresses: readonly UserAddress[];
  readonly canChangeName: boolean;
  readonly canChangeAddress: boolean;
  readonly passkeys: readonly Passkey[];
  readonly factors: readonly ListedFactor[];
  readonly identities: readonly Identity[];
  readonly upstreams: readonly Upstream[];
  /** Absent if the sign-in is too old to add a passkey. */
  readonly registration:
    | { readonly ceremony: string; readonly options: string; readonly isConditional: boolean }
    | undefined;
  readonly signal: Signal;
  readonly applications: readonly DescribedApplication[];
  /** The resources that they may use. */
  readonly resources: readonly Resource[];
  readonly sessions: readonly (UserSession & { readonly isThis: boolean })[];
  readonly notice: AccountNotice | undefined;
  readonly dates: PersonalDates;
  readonly agreement: Agreement | undefined;
  readonly canDelete: boolean;
}

interface Props {
  readonly frame: AuthPageFrame;
  readonly view: AccountView;
}

interface SectionProps {
  readonly t: AuthTranslator;
  readonly view: AccountView;
}

/** The longest name of a passkey, in UTF-16 code units. */
export const passkeyNameLength = 64;

/** **The account page.** Each removal links to a page that confirms it. */
export function AccountPage({ frame, view }: Props) {
  const { t } = frame;
  const name = displayName(view.user);
  const { date } = view.dates;
  return (
    <Layout {...frame} title={t("account.title")} scripts={[passkeyScript]} wide>
      <div class="head">
        <h1>{t("account.title")}</h1>
        <Person name={name} text={t("account.signedInAs", { user: name })} />
      </div>
      <Notices t={t} notice={view.notice} />
      <PasskeySignal signal={view.signal} />
      <NameSection t={t} user={view.user} formToken={view.formToken} canChange={view.canChangeName} />
      <AddressSection t={t} view={view} />
      <Password t={t} hasPassword={view.hasPassword} />
      <Passkeys t={t} view={view} />
      <FactorsSection
        t={t}
        date={date}
        factors={view.factors}
        created={(date) => t("account.created", { date })}
        lastUsed={(date) => t("account.lastUsed", { date })}
      />
      <IdentitiesSection
        t={t}
        date={date}
        formToken={view.formToken}
        identities={view.identities}
        upstreams={view.upstreams}
        created={(date) => t("account.created", { date })}
        lastUsed={(date) => t("account.lastUsed", { date })}
      />
      <ApplicationsSection t={t} applications={view.applications} resources={view.resources} date={date} />
      <Sessions t={t} view={view} />
      <DataSection t={t} canDelete={view.canDelete} />
      <AgreedTerms frame={frame} agreement={view.agreement} dates={view.dates} />
      <p class="links">
        <a href="/logout" id="sign-out">
          {t("home.signOut")}
        </a>
      </p>
    </Layout>
  );
}

/** At most one notice is visible: the script hides the notice of the last action before it shows a failure. */
function Notices({ t, notice }: { readonly t: AuthTranslator; readonly notice: AccountNotice | undefined }) {
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

function Password({ t, hasPassword }: { readonly t: AuthTranslator; readonly hasPassword: boolean }) {
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

function Passkeys({ t, view }: SectionProps) {
  const { date } = view.dates;
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
              <Item
                title={name}
                details={[
                  t("account.created", { date: date(createdAtMs) }),
                  lastUsedAtMs !== undefined && t("account.lastUsed", { date: date(lastUsedAtMs) }),
                ]}
              />
              <RemoveLink path="/account/passkeys/remove" name="credential_id" value={credentialId} subject={name}>
                {t("account.removePasskey")}
              </RemoveLink>
              <RenamePasskey t={t} view={view} passkey={passkey} id={`passkey-name-${index}`} />
            </li>
          );
        })}
      </ul>
      <AddPasskey t={t} view={view} />
      <NoPasskeys t={t} />
      <noscript>
        <p class="muted small">{t("account.noScript")}</p>
      </noscript>
    </section>
  );
}

function RenamePasskey(props: {
  readonly t: AuthTranslator;
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
function AddPasskey({ t, view }: SectionProps) {
  const { registration } = view;
  const script = registration ? { "data-passkey": "create", "data-options": registration.options, hidden: true } : {};
  return (
    <form method="post" action="/account/passkeys" class="top" {...script}>
      <input type="hidden" name="form_token" value={view.formToken} />
      <input type="hidden" name="ceremony" value={registration?.ceremony ?? ""} />
      <input type="hidden" name="credential" value="" />
      {registration?.isConditional && <input type="hidden" name="conditional" value="" />}
      <button type="submit" class="quiet" id="add-passkey">
        {t("account.addPasskey")}
      </button>
    </form>
  );
}

function Sessions({ t, view }: SectionProps) {
  const { time } = view.dates;
  return (
    <section>
      <h2>{t("account.sessions")}</h2>
      <p class="muted small">{t("account.sessionsText")}</p>
      <ul class="list">
        {view.sessions.map((session) => {
          const at = t("account.signedInAt", { date: time(session.signedInAtMs) });
          const place = describePlace(t.language, session);
          const details = [session.isThis ? t("account.thisDevice") : undefined, place, at];
          return (
            <li>
              <Item title={session.device} details={details} />
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
