import type { ListedFactor } from "@edge-op/shared/users/factors";
import type { AuthTranslator } from "../pages/messages.ts";
import { Item, List, RemoveLink, Section } from "./account-parts.tsx";

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
