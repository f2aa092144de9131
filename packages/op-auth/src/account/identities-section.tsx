import type { Language } from "@edge-op/pages/languages";
import { createTranslator } from "@edge-op/pages/translator";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import type { Identity } from "@edge-op/shared/users/identities";
import { upstreamMessages } from "../upstream/messages.ts";
import { Item, RemoveLink } from "./account-list.tsx";

interface Props {
  readonly language: Language;
  readonly date: (atMs: number) => string;
  readonly formToken: string;
  readonly created: (date: string) => string;
  readonly lastUsed: (date: string) => string;
  readonly identities: readonly Identity[];
  /** The active providers. */
  readonly upstreams: readonly Upstream[];
}

/** **Connected providers on the account page.** Absent if there is nothing to connect and nothing is connected. */
export function IdentitiesSection({ language, date, formToken, created, lastUsed, identities, upstreams }: Props) {
  if (identities.length + upstreams.length === 0) return null;
  const t = createTranslator(upstreamMessages, language);
  const nameOf = (id: string) => upstreams.find(({ upstreamId }) => upstreamId === id)?.document.name ?? id;
  const others = upstreams.filter((each) => identities.every(({ upstreamId }) => upstreamId !== each.upstreamId));
  return (
    <section>
      <h2>{t("identities")}</h2>
      <p class="muted small">{t(identities.length === 0 ? "noIdentities" : "identitiesText")}</p>
      <ul class="list">
        {identities.map(({ id, upstreamId, label, createdAtMs, lastUsedAtMs }) => {
          const details = [
            <bdi>{label}</bdi>,
            created(date(createdAtMs)),
            lastUsedAtMs === undefined ? undefined : lastUsed(date(lastUsedAtMs)),
          ];
          const name = nameOf(upstreamId);
          return (
            <li>
              <Item title={name} details={details} />
              <RemoveLink path="/account/identities/remove" name="identity" value={id} subject={`${name} ${label}`}>
                {t("disconnect")}
              </RemoveLink>
            </li>
          );
        })}
      </ul>
      {others.length > 0 && (
        <form method="post" action="/account/identities" class="top stack">
          <input type="hidden" name="form_token" value={formToken} />
          {others.map(({ upstreamId, document: { name } }) => (
            <button type="submit" class="quiet" name="upstream" value={upstreamId} id={`connect-${upstreamId}`}>
              {t("connectWith", { provider: name })}
            </button>
          ))}
        </form>
      )}
    </section>
  );
}
