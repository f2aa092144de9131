import type { ListedFactor } from "@edge-op/shared/users/factors";
import type { AuthTranslator } from "../pages/messages.ts";
import { Item, RemoveLink } from "./account-parts.tsx";

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
  return (
    <section id="factors">
      <h2>{t("factor.factors")}</h2>
      <p class="muted small">{t("factor.factorsText")}</p>
      {listed.length === 0 && <p class="muted small">{t("factor.noFactors")}</p>}
      <ul class="list">
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
      </ul>
      <a class="button quiet top" href="/account/apps" id="add-app">
        {t("factor.addApp")}
      </a>
      {factors.length > 0 && (
        <a class="button quiet top" href="/account/recovery-codes" id="make-codes">
          {t(hasCodes ? "factor.renewCodes" : "factor.makeCodes")}
        </a>
      )}
    </section>
  );
}
