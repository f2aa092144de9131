import type { Browser } from "@edge-op/pages/cookies";
import { encodeBase32, encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import type { User } from "@edge-op/shared/users/user";
import { encode } from "uqr";
import { HiddenFields, invalidIf } from "../pages/form-parts.tsx";
import type { PageRequest } from "../pages/frame.ts";
import type { AuthTranslator } from "../pages/messages.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { readDeployment } from "../runtime/deployment.ts";
import { rememberBrowser } from "../session/known-browser.ts";
import { type Basis, writeAs } from "../session/write-as.ts";
import { insertTotp } from "./factor-store.ts";
import { pageSecret } from "./recovery-codes.ts";
import { matchTotp, otpauthUri, readTotpCode } from "./totp.ts";
import { codeWayIn } from "./verify-code.ts";

/** RFC 4226 §4 R6 recommends 160 bits. */
const secretBytes = 20;

/** **An app that is being set up**: its secret is a MAC over the id of the page, so that it is the same after a wrong code, and nothing is stored. */
export interface AppSetup {
  readonly user: Pick<User, "sub" | "username" | "claims">;
  readonly browser: Browser;
  /** Random: the id of the flow or of the page. */
  readonly id: string;
}

interface SetupKey {
  /** Base32, in groups of four. */
  readonly text: string;
  readonly uri: string;
}

export async function setupKey(context: RequestContext<AuthEnv>, setup: AppSetup): Promise<SetupKey> {
  const secret = await secretOf(context, setup);
  const names = { issuer: readDeployment(context.env).name, account: setup.user.username };
  return { text: encodeBase32(secret).replace(/(.{4})(?=.)/g, "$1 "), uri: otpauthUri(secret, names) };
}

export interface ConfirmedApp {
  readonly factorId: string;
  /** Makes the browser a known one for codes, so that guesses elsewhere do not keep its owner out. */
  readonly cookie: string;
}

/**
 * Stores the app if the code is its own and `basis` is in force; `undefined` if the code is wrong or the app may not be added. Cost: 1 D1 call, and
 * tell-person.ts.
 */
export async function confirmSetup(
  { context, request }: PageRequest,
  setup: AppSetup,
  typed: string,
  { basis, isFirst }: { readonly basis: Basis; readonly isFirst: boolean },
): Promise<ConfirmedApp | undefined> {
  const { sub, claims } = setup.user;
  const secret = await secretOf(context, setup);
  const step = await matchTotp(secret, readTotpCode(typed) ?? "", { nowMs: context.arrivedAtMs, lastStep: 0 });
  if (step === undefined) return undefined;
  const factorId = encodeBase64Url((await sha256(`app\n${sub}\n${setup.id}`)).slice(0, 16));
  const added = { action: "totp.added", target: factorId, actor: sub };
  const event = recordAdminEvent(context, added, { ifChanged: true });
  const takesBack = { kind: "totp", id: factorId } as const;
  const notice = { sub, claims, kind: "app-added", evidence: added, takesBack } as const;
  const isAdded = await tellPerson(context, notice, async () => {
    const insert = await insertTotp(context, { sub, factorId, secret, step, isFirst });
    return writeAs(context, basis, [insert, event]);
  });
  if (!isAdded) return undefined;
  wakeAuditLog(context);
  return { factorId, cookie: await rememberBrowser(context, request, setup.browser, codeWayIn(sub)) };
}

async function secretOf(
  { env }: RequestContext<AuthEnv>,
  { user, browser, id }: AppSetup,
): Promise<Uint8Array<ArrayBuffer>> {
  return (await pageSecret(env, browser, { purpose: "app", id, of: user.sub })).slice(0, secretBytes);
}

interface SetupAppView {
  readonly t: AuthTranslator;
  readonly setupKey: SetupKey;
  readonly form: { readonly action: string; readonly fields: Readonly<Record<string, string>> };
  readonly isRefused: boolean;
}

/** **The key of a new app**, as a QR code, as a link and as text, and the form that confirms it with a code. */
export function SetupApp({ t, setupKey, form, isRefused }: SetupAppView) {
  const invalid = invalidIf(isRefused);
  return (
    <>
      <p>{t("factor.scan")}</p>
      <QrCode text={setupKey.uri} label={t("factor.qr")} />
      <p class="center small">
        <a href={setupKey.uri} id="open-app">
          {t("factor.openApp")}
        </a>
      </p>
      <p class="muted small">{t("factor.key")}</p>
      <p class="secret" id="key">
        {setupKey.text}
      </p>
      <form method="post" action={form.action}>
        <HiddenFields fields={form.fields} />
        <CodeField t={t} id="code" label={t("factor.confirmCode")} digits={totpDigits} invalid={invalid} />
        <div class="actions">
          <button type="submit" id="add-app">
            {t("factor.add")}
          </button>
        </div>
      </form>
    </>
  );
}

/** Of a field for a code: a sentence with it can be pasted. */
export const codeFieldLength = 256;

export const totpDigits = 6;

/**
 * **The field for a code of an app, or a mailed one.** The script of every page sends its form when all digits are there (assets.ts), and says so
 * before (WCAG 2.2 §3.2.2).
 */
export function CodeField(props: {
  readonly t: AuthTranslator;
  readonly id: string;
  readonly label: string;
  readonly digits: number;
  readonly invalid: Readonly<Record<string, string>>;
  readonly autofocus?: boolean;
}) {
  return (
    <>
      <label for={props.id}>{props.label}</label>
      <input
        id={props.id}
        name="code"
        type="text"
        class="code-field"
        inputmode="numeric"
        enterkeyhint="go"
        autocomplete="one-time-code"
        data-digits={props.digits}
        autofocus={props.autofocus ?? true}
        required
        maxlength={codeFieldLength}
        {...props.invalid}
      />
      <p class="muted small" id={`${props.id}-hint`} hidden>
        {props.t("code.submitsItself")}
      </p>
    </>
  );
}

/** Dark on light in every colour scheme: some apps do not read inverted codes. */
function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { size, data } = encode(text, { ecc: "M", border: 4 });
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
