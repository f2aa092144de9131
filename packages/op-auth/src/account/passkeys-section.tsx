import type { Passkey } from "@edge-op/shared/users/credentials";
import { NoPasskeys, PasskeyFailure } from "../factors/passkey-parts.tsx";
import type { AuthTranslator } from "../pages/messages.ts";
import { ChangeInPlace, Item, List, RemoveLink, Section } from "./account-parts.tsx";

/** The longest name of a passkey, in UTF-16 code units. */
export const passkeyNameLength = 64;

/** What the script needs to create a passkey. */
export interface Registration {
  readonly ceremony: string;
  readonly options: string;
  /** The browser may create one without asking. */
  readonly isConditional: boolean;
}

interface Props {
  readonly t: AuthTranslator;
  readonly date: (atMs: number) => string;
  readonly formToken: string;
  readonly passkeys: readonly Passkey[];
  /** Absent if the sign-in is too old to add a passkey. */
  readonly registration: Registration | undefined;
}

/** **Passkeys on the page of the security of an account.** Each removal links to a page that confirms it. */
export function PasskeysSection({ t, date, formToken, passkeys, registration }: Props) {
  const add = <AddPasskey t={t} formToken={formToken} registration={registration} />;
  return (
    <Section id="passkeys" title={t("account.passkeys")} text={t("account.passkeysText")} action={add}>
      {passkeys.length === 0 && <p class="muted small">{t("account.noPasskeys")}</p>}
      <List>
        {passkeys.map((passkey, index) => {
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
              <RenamePasskey t={t} formToken={formToken} passkey={passkey} id={`passkey-name-${index}`} />
            </li>
          );
        })}
      </List>
      <NoPasskeys t={t} />
      <noscript>
        <p class="muted small">{t("account.noScript")}</p>
      </noscript>
    </Section>
  );
}

/** At most one notice is visible: the script hides the notice of the last action before it shows a failure. */
export function PasskeyFailures({ t }: Pick<Props, "t">) {
  return (
    <>
      <PasskeyFailure t={t} text={t("account.passkeyFailed")} kind="notCreated" />
      <p class="note bad" role="alert" data-passkey-exists hidden>
        {t("account.passkeyExists")}
      </p>
    </>
  );
}

function RenamePasskey(props: {
  readonly t: AuthTranslator;
  readonly formToken: string;
  readonly passkey: Passkey;
  readonly id: string;
}) {
  const { t, formToken, passkey, id } = props;
  return (
    <ChangeInPlace
      t={t}
      text={t("account.renamePasskey")}
      name={`${t("account.renamePasskey")}: ${passkey.name}`}
      action="/account/passkeys/rename"
      fields={{ form_token: formToken, credential_id: passkey.credentialId }}
      field={{ id, label: t("account.passkeyName") }}
    >
      <input
        id={id}
        name="name"
        type="text"
        value={passkey.name}
        required
        maxlength={passkeyNameLength}
        autocomplete="off"
      />
    </ChangeInPlace>
  );
}

/** Without `registration`, the button leads to a sign-in, which returns to this page. */
function AddPasskey({ t, formToken, registration }: Pick<Props, "t" | "formToken" | "registration">) {
  const script = registration ? { "data-passkey": "create", "data-options": registration.options, hidden: true } : {};
  return (
    <form method="post" action="/account/passkeys" {...script}>
      <input type="hidden" name="form_token" value={formToken} />
      <input type="hidden" name="ceremony" value={registration?.ceremony ?? ""} />
      <input type="hidden" name="credential" value="" />
      {registration?.isConditional && <input type="hidden" name="conditional" value="" />}
      <button type="submit" class="quiet slim" id="add-passkey">
        {t("account.addPasskey")}
      </button>
    </form>
  );
}
