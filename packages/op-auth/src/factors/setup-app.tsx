import type { Language } from "@edge-op/pages/languages";
import { createTranslator } from "@edge-op/pages/translator";
import { encode } from "uqr";
import { HiddenFields } from "../pages/form-parts.tsx";
import type { SetupKey } from "./app-setup.ts";
import { factorMessages } from "./messages.ts";

interface SetupAppView {
  readonly language: Language;
  readonly setupKey: SetupKey;
  readonly form: { readonly action: string; readonly fields: Readonly<Record<string, string>> };
  readonly isRefused: boolean;
}

/** **The key of a new app**, as a QR code, as a link and as text, and the form that confirms it with a code. */
export function SetupApp({ language, setupKey, form, isRefused }: SetupAppView) {
  const t = createTranslator(factorMessages, language);
  const invalid = isRefused ? { "aria-invalid": "true" as const, "aria-describedby": "problem" } : {};
  return (
    <>
      <p>{t("scan")}</p>
      <QrCode text={setupKey.uri} label={t("qr")} />
      <p class="center small">
        <a href={setupKey.uri} id="open-app">
          {t("openApp")}
        </a>
      </p>
      <p class="muted small">{t("key")}</p>
      <p class="secret" id="key">
        {setupKey.text}
      </p>
      <form method="post" action={form.action}>
        <HiddenFields fields={form.fields} />
        <CodeField id="code" label={t("confirmCode")} invalid={invalid} />
        <div class="actions">
          <button type="submit" id="add-app">
            {t("add")}
          </button>
        </div>
      </form>
    </>
  );
}

/** Of a field for a code: a sentence with it can be pasted. */
export const codeFieldLength = 256;

/** The field for a code of an app, or a mailed one. */
export function CodeField(props: {
  readonly id: string;
  readonly label: string;
  readonly invalid: Readonly<Record<string, string>>;
}) {
  return (
    <>
      <label for={props.id}>{props.label}</label>
      <input
        id={props.id}
        name="code"
        type="text"
        inputmode="numeric"
        autocomplete="one-time-code"
        autofocus
        required
        maxlength={codeFieldLength}
        {...props.invalid}
      />
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
