import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { Settings } from "@edge-op/shared/config/settings";
import { peopleOf } from "@edge-op/shared/storage/people";
import { makeWordsOf } from "@edge-op/shared/users/search-index";
import type { User } from "@edge-op/shared/users/user";
import type { PageRequest } from "../pages/frame.ts";
import type { AuthTranslator } from "../pages/messages.ts";
import { basisOf } from "../session/signed-in-person.ts";
import { changeAs, whileInForce } from "../session/write-as.ts";
import { longestName, readName } from "../sign-in/sign-up-rule.tsx";
import { accountWith, backWith } from "./account-notices.ts";
import { Item, Section } from "./account-parts.tsx";
import { asPersonPosting, mayChangeNow } from "./require-person.ts";

export const namePath = "/account/name";

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

/** **Changes the name of a person**, which applications see. Sessions and grants stay. Cost: 1 object call and one control change. */
export function changeName(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    const { context } = at;
    const { sub, username, claims } = person.user;
    const { env, arrivedAtMs: atMs, settings } = context;
    const name = readName(form.get("name"));
    if (name === undefined || !mayChangeName(settings)) return accountWith(context, "name-not-changed");
    if (!(await mayChangeNow(at, sub))) return backWith(at, "too-many-changes");
    const update = peopleOf(env.DB)
      .prepare(
        `UPDATE users SET updated_at_ms = max(updated_at_ms + 1, ?3), claims = json_set(claims, '$.name', ?2, '$.updated_at', ?4)
         WHERE sub = ?1`,
      )
      .bind(sub, name, atMs, Math.floor(atMs / 1000));
    const event = recordAdminEvent(
      context,
      { action: "account.renamed", target: sub, actor: sub },
      { ifChanged: true },
    );
    const guards = [whileInForce(env.DB, basisOf(person))] as const;
    await changeAs(
      context,
      guards,
      [update, event, ...makeWordsOf(env.DB, { sub, username, claims: { ...claims, name } })],
      { changes: [{ kind: "user", id: sub }] },
    );
    wakeAuditLog(context);
    return accountWith(context, "name-changed");
  });
}
