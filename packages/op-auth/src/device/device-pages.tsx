import type { Script } from "@edge-op/pages/assets";
import { ClientMark } from "@edge-op/pages/client-mark";
import { describeAgo, describePlace } from "@edge-op/pages/describe-values";
import { Layout } from "@edge-op/pages/layout";
import { accountName, displayName, Person } from "@edge-op/pages/person";
import { formatUserCode } from "@edge-op/shared/codes/user-code";
import type { Place } from "@edge-op/shared/http/asker";
import type { Resource } from "@edge-op/shared/resources/resource";
import type { MappedAttribute } from "@edge-op/shared/users/attributes";
import type { User } from "@edge-op/shared/users/user";
import { AllowanceList } from "../consent/allowance-list.tsx";
import type { DescribedDetail } from "../consent/describe-details.ts";
import { codeFieldLength } from "../factors/app-setup.tsx";
import { ClientLinks, type ClientPages } from "../pages/describe-client.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { AuthTranslator } from "../pages/messages.ts";

export interface EnterCodeView {
  /** The code as typed by the user. */
  readonly typed: string | undefined;
  readonly problem: string | undefined;
}

/** **The page for the code.** The field takes the code with or without dash, in any case. */
export function EnterCodePage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: EnterCodeView }) {
  const { t } = frame;
  const { typed, problem } = view;
  return (
    <Layout {...frame} title={t("device.title")} scripts={[userCodeScript]} account>
      <div class="head">
        <h1>{t("device.title")}</h1>
        <p class="muted">{t("device.text")}</p>
      </div>
      {problem && (
        <p class="note bad" role="alert" id="problem">
          {problem}
        </p>
      )}
      <form method="post" action="/device">
        <label for="user-code">{t("device.code")}</label>
        <input
          type="text"
          id="user-code"
          name="user_code"
          class="code-field"
          value={typed}
          placeholder="XXXX-XXXX"
          maxlength={codeFieldLength}
          autocomplete="off"
          autocapitalize="characters"
          spellcheck={false}
          enterkeyhint="go"
          autofocus
          required
          aria-invalid={problem ? "true" : undefined}
          aria-describedby={problem ? "problem" : undefined}
        />
        <div class="actions">
          <button type="submit" id="continue">
            {t("device.continue")}
          </button>
        </div>
      </form>
    </Layout>
  );
}

export interface ConfirmDeviceView {
  readonly formToken: string;
  readonly userCode: string;
  readonly client: ClientPages & { readonly name: string; readonly logoUri: string | undefined };
  readonly user: User;
  readonly asked: readonly string[];
  readonly resources: readonly Resource[];
  readonly attributes: readonly MappedAttribute[];
  readonly details: readonly DescribedDetail[];
  readonly place: Place;
  readonly minutes: number;
}

/**
 * **The page that confirms a device**: its code, the client, the requested access, and from where it was requested. It is shown for every device,
 * regardless of earlier consent, because only the person knows whether the device is theirs (RFC 8628 §5.4).
 */
export function ConfirmDevicePage({
  frame,
  view,
}: {
  readonly frame: AuthPageFrame;
  readonly view: ConfirmDeviceView;
}) {
  const { t } = frame;
  const { client, user, userCode } = view;
  return (
    <Layout {...frame} title={t("device.confirm")} account>
      <div class="head">
        <ClientMark name={client.name} logoUri={client.logoUri} />
        <h1>{t("device.confirm")}</h1>
      </div>
      <p class="code" id="shown-code">
        {formatUserCode(userCode)}
      </p>
      <p class="small">{t("device.warning")}</p>
      <p class="small muted" id="origin">
        {describeOrigin(t, view)}
      </p>
      <p class="asks top">{t("device.asks", { client: client.name })}</p>
      <AllowanceList t={t} {...view} />
      <form method="post" action="/device" class="actions" id="decide">
        <input type="hidden" name="form_token" value={view.formToken} />
        <input type="hidden" name="user_code" value={formatUserCode(userCode)} />
        <button type="submit" name="decision" value="allow" id="allow">
          {t("device.allow")}
        </button>
        <button type="submit" name="decision" value="deny" class="quiet" id="deny">
          {t("device.deny")}
        </button>
      </form>
      <div class="center">
        <Person name={displayName(user)} text={t("consent.as", { user: accountName(user) })} />
        <button type="submit" form="decide" name="decision" value="other" class="link" id="not-you">
          {t("consent.notYou")}
        </button>
      </div>
      <ClientLinks t={t} client={client} />
    </Layout>
  );
}

function describeOrigin(t: AuthTranslator, { place, minutes }: ConfirmDeviceView): string {
  const named = describePlace(t.language, place);
  const values = { ago: describeAgo(t.language, minutes) };
  return named === undefined ? t("device.ago", values) : t("device.from", { ...values, place: named });
}

/**
 * Formats the code as it is typed: upper case, and a dash after four letters. The cursor stays at its letter. A text with more
 * letters, a pasted sentence, stays. Without the script, the same text is accepted as typed.
 */
const body = `
"use strict";
const field = document.getElementById("user-code");
const lettersOf = (text) => text.normalize("NFKC").toUpperCase().replace(/[^A-Z]/g, "");
const format = (letters) => (letters.length > 4 ? letters.slice(0, 4) + "-" + letters.slice(4) : letters);
field?.addEventListener("input", (event) => {
  if (event.isComposing || lettersOf(field.value).length > 8) return;
  const before = lettersOf(field.value.slice(0, field.selectionStart ?? field.value.length)).length;
  const formatted = format(lettersOf(field.value));
  if (formatted === field.value) return;
  field.value = formatted;
  const at = before > 4 ? before + 1 : before;
  field.setSelectionRange(at, at);
});
`.trim();

export const userCodeScript: Script = { name: "user-code.js", body };
