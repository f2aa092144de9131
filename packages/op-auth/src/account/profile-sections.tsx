import { languageCookie } from "@edge-op/pages/language-switch";
import { chooseLanguage, describeLanguage, findLanguage } from "@edge-op/pages/languages";
import { withCookies } from "@edge-op/pages/respond-page";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { Settings } from "@edge-op/shared/config/settings";
import { peopleOf } from "@edge-op/shared/storage/people";
import { makeWordsOf } from "@edge-op/shared/users/search-index";
import type { User } from "@edge-op/shared/users/user";
import type { AuthPageFrame, PageRequest } from "../pages/frame.ts";
import type { AuthTranslator } from "../pages/messages.ts";
import { basisOf, type SignedInPerson } from "../session/signed-in-person.ts";
import { changeAs, whileInForce } from "../session/write-as.ts";
import { longestName, readName } from "../sign-in/sign-up-rule.tsx";
import { accountWith, backWith } from "./account-notices.ts";
import { Item, Section } from "./account-parts.tsx";
import { asPersonPosting, mayChangeNow } from "./require-person.ts";

export const namePath = "/account/name";
export const ownLanguagePath = "/account/language";

/** Where people name themselves when they sign up. Elsewhere their names are those of administrators and upstream providers. */
export function mayChangeName({ signUp }: Settings): boolean {
  return signUp === "open";
}

/** **The name on the account page**, with a form for another one where people choose theirs. */
export function NameSection(props: {
  readonly t: AuthTranslator;
  readonly user: User;
  readonly formToken: string;
  readonly canChange: boolean;
}) {
  const { t, user, formToken, canChange } = props;
  const { name } = user.claims;
  if (name === undefined && !canChange) return null;
  return (
    <Section title={t("account.name")}>
      <ul class="list">
        <li>
          <Item title={name ?? t("account.noName")} details={[t("account.nameText")]} />
          {canChange && (
            <details class="rename">
              <summary aria-label={t("account.changeName")}>{t("account.change")}</summary>
              <form method="post" action={namePath} class="row">
                <input type="hidden" name="form_token" value={formToken} />
                <label for="name" class="unseen">
                  {t("signUp.name")}
                </label>
                <input
                  id="name"
                  name="name"
                  type="text"
                  value={name}
                  required
                  maxlength={longestName}
                  autocomplete="name"
                />
                <button type="submit" class="quiet slim" id="save-name">
                  {t("account.save")}
                </button>
              </form>
            </details>
          )}
        </li>
      </ul>
    </Section>
  );
}

/**
 * **The person's language on the account page**: the claim `locale`, in which mails to them are written. Without one, mails are in English, and pages
 * follow the browser.
 */
export function LanguageSection(props: {
  readonly frame: AuthPageFrame;
  readonly user: User;
  readonly formToken: string;
}) {
  const { frame, user, formToken } = props;
  const { t, languages } = frame;
  const { locale } = user.claims;
  const own = chooseLanguage(locale === undefined ? [t.language] : [locale], null, languages);
  return (
    <Section title={t("account.language")}>
      <ul class="list">
        <li>
          <Item title={describeLanguage(own).name} details={[t("account.languageText")]} />
          <details class="rename">
            <summary aria-label={`${t("account.change")}: ${t("account.language")}`}>{t("account.change")}</summary>
            <form method="post" action={ownLanguagePath} class="row">
              <input type="hidden" name="form_token" value={formToken} />
              <label for="own-language" class="unseen">
                {t("account.language")}
              </label>
              <select id="own-language" name="language">
                {languages.map((each) => (
                  <option value={each} lang={each} selected={each === own}>
                    {describeLanguage(each).name}
                  </option>
                ))}
              </select>
              <button type="submit" class="quiet slim" id="save-language">
                {t("account.save")}
              </button>
            </form>
          </details>
        </li>
      </ul>
    </Section>
  );
}

/** **Changes the name of a person**, which applications see. Sessions and grants stay. Cost: 1 object call and one control change. */
export function changeName(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    const { context } = at;
    const name = readName(form.get("name"));
    if (name === undefined || !mayChangeName(context.settings)) return accountWith(context, "name-not-changed");
    const isChanged = await changeClaim(at, person, { action: "account.renamed", claim: "name", value: name });
    return isChanged ? accountWith(context, "name-changed") : backWith(at, "too-many-changes");
  });
}

/** **Changes the language of a person**: of mails to them, and of the pages in this browser. Cost: as for the name; 0 if it is theirs already. */
export function changeOwnLanguage(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    const { context } = at;
    const language = findLanguage(form.get("language") ?? "");
    if (language === undefined) return backWith(at, "not-changed");
    const change = { action: "account.language_changed", claim: "locale", value: language } as const;
    const isChanged = person.user.claims.locale === language || (await changeClaim(at, person, change));
    if (!isChanged) return backWith(at, "too-many-changes");
    return withCookies(accountWith(context, "language-changed"), [languageCookie(context, language)]);
  });
}

interface ClaimChange {
  readonly action: string;
  readonly claim: "name" | "locale";
  readonly value: string;
}

/** False if the person has made too many changes. */
async function changeClaim(at: PageRequest, person: SignedInPerson, { action, claim, value }: ClaimChange) {
  const { context } = at;
  const { sub, username, claims } = person.user;
  const { env, arrivedAtMs: atMs } = context;
  if (!(await mayChangeNow(at, sub))) return false;
  const update = peopleOf(env.DB)
    .prepare(
      `UPDATE users SET updated_at_ms = max(updated_at_ms + 1, ?3), claims = json_set(claims, '$.' || ?5, ?2, '$.updated_at', ?4)
         WHERE sub = ?1`,
    )
    .bind(sub, value, atMs, Math.floor(atMs / 1000), claim);
  const event = recordAdminEvent(context, { action, target: sub, actor: sub }, { ifChanged: true });
  const guards = [whileInForce(env.DB, basisOf(person))] as const;
  await changeAs(
    context,
    guards,
    [update, event, ...makeWordsOf(env.DB, { sub, username, claims: { ...claims, [claim]: value } })],
    { changes: [{ kind: "user", id: sub }] },
  );
  wakeAuditLog(context);
  return true;
}
