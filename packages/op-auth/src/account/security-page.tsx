import { personalDates } from "@edge-op/pages/describe-values";
import { formToken } from "@edge-op/pages/form-token";
import { respondPage } from "@edge-op/pages/respond-page";
import { findPassword, listPasskeys, type Passkey } from "@edge-op/shared/users/credentials";
import { type ListedFactor, listFactors } from "@edge-op/shared/users/factors";
import { listIdentities } from "@edge-op/shared/users/identities";
import { PasskeySignal, personSignal } from "../factors/passkey-parts.tsx";
import { passkeyScript } from "../factors/passkey-script.ts";
import { passkeyRegistrationOptions } from "../factors/register-passkey.ts";
import { type AuthPageFrame, type PageRequest, personFrame } from "../pages/frame.ts";
import type { AuthTranslator } from "../pages/messages.ts";
import type { SignedInPerson } from "../session/signed-in-person.ts";
import { AccountLayout } from "./account-layout.tsx";
import { takeNotice } from "./account-notices.ts";
import { Item, List, RemoveLink, Section } from "./account-parts.tsx";
import { mayAddConditionally, mayAddPasskey } from "./factor-level.ts";
import { IdentitiesSection } from "./identities.tsx";
import { PasskeyFailures, PasskeysSection, type Registration } from "./passkeys-section.tsx";
import { accountForms, asPerson } from "./require-person.ts";
import { findRecoveryNote } from "./stop-recovery.tsx";

interface WaysIn {
  readonly hasPassword: boolean;
  readonly passkeys: readonly Pick<Passkey, "credentialId">[];
  readonly identities: readonly unknown[];
  readonly factors: readonly Pick<ListedFactor, "kind" | "remaining">[];
  /** The person can prove a mailbox, beside which recovery codes let them back in. */
  readonly isMailable: boolean;
}

/** What is missing for a person who has one way in, and loses it: `undefined` if there is another. Pure. */
export function onlyWayIn({ hasPassword, passkeys, identities, factors }: WaysIn): "passkey" | "provider" | undefined {
  const hasCodes = factors.some(({ kind, remaining = 0 }) => kind === "recovery_codes" && remaining > 0);
  if (hasPassword || hasCodes || passkeys.length + identities.length !== 1) return undefined;
  return passkeys.length === 1 ? "passkey" : "provider";
}

/** **The note for a person who would be locked out by one loss**, with what helps. */
export function OnlyWayIn({ frame, ways }: { readonly frame: AuthPageFrame; readonly ways: WaysIn }) {
  const only = onlyWayIn(ways);
  if (only === undefined) return null;
  const { t } = frame;
  const canUseCodes = only === "passkey" && ways.isMailable;
  return (
    <p class="note" id="only-way-in">
      {t(only === "passkey" ? "factor.onlyOnePasskey" : "factor.onlyOneProvider")}{" "}
      {canUseCodes ? (
        <a href="/account/recovery-codes">{t("factor.makeCodes")}</a>
      ) : (
        <a href="#add-passkey">{t("factor.addAnotherPasskey")}</a>
      )}
    </p>
  );
}

interface Props {
  readonly t: AuthTranslator;
  readonly date: (atMs: number) => string;
  readonly created: (date: string) => string;
  readonly lastUsed: (date: string) => string;
  /** All of the person's. */
  readonly factors: readonly ListedFactor[];
}

/** **Second factors on the account page**: apps and recovery codes. Passkeys have a part of their own. */
export function FactorsSection({ t, date, created, lastUsed, factors }: Props) {
  const listed = factors.filter(({ kind }) => kind !== "passkey");
  const hasCodes = listed.some(({ kind }) => kind === "recovery_codes");
  const add = (
    <a class="button quiet slim" href="/account/apps" id="add-app">
      {t("factor.addApp")}
    </a>
  );
  return (
    <Section id="factors" title={t("factor.factors")} text={t("factor.factorsText")} action={add}>
      {listed.length === 0 && <p class="muted small">{t("factor.noFactors")}</p>}
      <List>
        {listed.map(({ id, kind, createdAtMs, lastUsedAtMs, remaining }) => {
          const name = t(kind === "totp" ? "factor.app" : "factor.codes");
          const details = [
            remaining === undefined ? undefined : t("factor.remaining", { count: remaining }),
            created(date(createdAtMs)),
            lastUsedAtMs === undefined ? undefined : lastUsed(date(lastUsedAtMs)),
          ];
          return (
            <li>
              <Item title={name} details={details} />
              <RemoveLink path="/account/factors/remove" name="factor_id" value={id} subject={name}>
                {t("factor.remove")}
              </RemoveLink>
            </li>
          );
        })}
      </List>
      {factors.length > 0 && (
        <p class="small">
          <a href="/account/recovery-codes" id="make-codes">
            {t(hasCodes ? "factor.renewCodes" : "factor.makeCodes")}
          </a>
        </p>
      )}
    </Section>
  );
}

/** A passkey ceremony starts when the page is rendered and must end within this time. */
const ceremonyMs = 10 * 60_000;

/** **`GET /account/security`**: password, passkeys, second factors, connected providers. Cost: 2 object calls, 4 D1 calls. */
export function showSecurity(at: PageRequest): Promise<Response> {
  return asPerson(at, (person) => renderSecurity(at, person));
}

async function renderSecurity(at: PageRequest, person: SignedInPerson): Promise<Response> {
  const { context, isolate } = at;
  const { user, sessionId } = person;
  const { DB } = context.env;
  const frame = await personFrame(at, user);
  const [{ record: password }, passkeys, factors, identities, upstreams, recovery] = await Promise.all([
    findPassword(DB, user.username),
    listPasskeys(DB, user.sub),
    listFactors(DB, user.sub),
    listIdentities(DB, user.sub),
    isolate.upstreams.list(context),
    findRecoveryNote(at, frame, person),
  ]);
  // A person who has removed a factor does not get another one without asking.
  const hasRemovedNone = password?.factors.epoch === 0;
  const { t } = frame;
  const token = await formToken(context, accountForms, sessionId);
  const { notice, cookies } = takeNotice(at);
  const listed = {
    t,
    date: personalDates(context, t.language, user).date,
    created: (date: string) => t("account.created", { date }),
    lastUsed: (date: string) => t("account.lastUsed", { date }),
  };
  const hasPassword = password?.sub === user.sub && password.hash !== undefined;
  const isMailable = context.settings.mailProvider !== "off" && user.claims.email_verified === true;
  const registration = await register(at, person, { factors, passkeys, hasRemovedNone });
  const page = (
    <AccountLayout
      frame={frame}
      area="security"
      user={user}
      notice={notice}
      recovery={recovery}
      scripts={[passkeyScript]}
    >
      <PasskeyFailures t={t} />
      <PasskeySignal signal={await personSignal(context, user, passkeys)} />
      <OnlyWayIn frame={frame} ways={{ hasPassword, passkeys, identities, factors, isMailable }} />
      <PasswordSection t={t} hasPassword={hasPassword} />
      <PasskeysSection t={t} date={listed.date} formToken={token} passkeys={passkeys} registration={registration} />
      <FactorsSection {...listed} factors={factors} />
      <IdentitiesSection {...listed} formToken={token} identities={identities} upstreams={upstreams} />
    </AccountLayout>
  );
  return respondPage(page, { formLeaves: upstreams.length > 0, cookies });
}

interface Known {
  readonly factors: readonly ListedFactor[];
  readonly passkeys: readonly Passkey[];
  readonly hasRemovedNone: boolean;
}

/** `undefined` if the sign-in is too old to add a passkey. */
async function register(
  at: PageRequest,
  person: SignedInPerson,
  { factors, passkeys, hasRemovedNone }: Known,
): Promise<Registration | undefined> {
  if (!mayAddPasskey(at, person, factors)) return undefined;
  const { context, isolate } = at;
  const { user } = person;
  const until = context.arrivedAtMs + ceremonyMs;
  const ceremony = await isolate.challenges.put(context, "passkey-ceremony", user.sub, until);
  return {
    ceremony,
    options: await passkeyRegistrationOptions(context, user, passkeys, ceremony),
    isConditional: hasRemovedNone && mayAddConditionally(at, person, factors),
  };
}

function PasswordSection({ t, hasPassword }: { readonly t: AuthTranslator; readonly hasPassword: boolean }) {
  const action = (
    <a class="button quiet slim" href="/account/password" id="password">
      {t(hasPassword ? "account.changePassword" : "account.setPassword")}
    </a>
  );
  const text = t(hasPassword ? "account.passwordText" : "account.noPasswordText");
  return <Section title={t("account.password")} text={text} action={action} />;
}
