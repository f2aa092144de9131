import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { ChangeRefused } from "../api/admin-api.ts";
import { definePage } from "../serve/define-page.tsx";
import { type Field, Fields, readValues, type Values } from "../serve/fields.tsx";
import { Facts, List, RecordHead } from "../serve/parts.tsx";
import type { PageCall } from "../serve/route.ts";

interface TestResult {
  readonly accepted: boolean;
  readonly faults: readonly string[];
  readonly signature: string;
  readonly rules: readonly {
    readonly rule_id: string;
    readonly matches: boolean;
    readonly reasons: readonly string[];
  }[];
  readonly outcome?: {
    readonly client_id?: string;
    readonly sub?: string;
    readonly scopes: readonly string[];
    readonly faults: readonly string[];
  };
}

const fields: readonly Field[] = [
  { name: "subject", label: "test.token", help: "test.tokenHelp", kind: "lines", isRequired: true },
  { name: "client_id", label: "test.client", kind: "text" },
  { name: "audience", label: "test.audience", kind: "text" },
];

/** **The rule tester**: what the admin API says about a token or its claims. Posted, because a token does not belong into a URL; nothing changes. */
export const testRules = definePage({
  path: "/console/issuers/:id/test",
  scope: "admin:issuers",
  operations: ["readIssuer", "testIssuer"],
  isPosted: true,
  async show(at) {
    const { api, t, path, parameter, form } = at;
    const own = `/issuers/${encodeURIComponent(parameter("id"))}`;
    const { issuer } = await api.get<{ readonly issuer: string }>(own);
    const values = form === undefined ? {} : readValues(fields, form);
    const tested = form === undefined ? undefined : await test(at, `${own}/test`, values);
    const children = (
      <>
        <RecordHead kind={t("test.title")} name={issuer} />
        {typeof tested === "string" && (
          <p class="note bad" role="alert" id="problem">
            <span lang="en">{tested}</span>
          </p>
        )}
        {typeof tested === "object" && <Result t={t} result={tested} />}
        <p class="muted">{t("test.text")}</p>
        <form method="post" action={path}>
          <input type="hidden" name="token" value={await at.token()} />
          <Fields t={t} fields={fields} values={values} />
          <div class="actions">
            <button type="submit" id="test">
              {t("test.submit")}
            </button>
          </div>
        </form>
      </>
    );
    return { title: t("test.title"), children };
  },
});

/** The result, or why there is none. */
async function test({ api, t }: PageCall, path: string, values: Values): Promise<TestResult | string> {
  const { subject = "", client_id: clientId, audience } = values;
  const presented = readSubject(subject);
  if (presented === undefined) return t("test.notJson");
  const body = {
    ...presented,
    ...(clientId ? { client_id: clientId } : {}),
    ...(audience ? { audience: [audience] } : {}),
  };
  try {
    return (await api.send<TestResult>({ method: "POST", path, body })).body;
  } catch (error) {
    if (error instanceof ChangeRefused) return error.message;
    throw error;
  }
}

function readSubject(text: string): { readonly token: string } | { readonly claims: object } | undefined {
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)) return { token: text };
  try {
    const claims: unknown = JSON.parse(text);
    return isJsonObject(claims) ? { claims } : undefined;
  } catch {
    return undefined;
  }
}

function Result({ t, result }: { readonly t: PageCall["t"]; readonly result: TestResult }) {
  const { accepted, faults, signature, rules, outcome } = result;
  return (
    <section id="result">
      <p class={`note ${accepted ? "good" : "bad"}`} role="status">
        {t(accepted ? "test.accepted" : "test.refused")}
      </p>
      <Facts
        t={t}
        facts={[
          [t("test.signature"), signature],
          [t("test.faults"), [...faults, ...(outcome?.faults ?? [])]],
          [t("test.sub"), outcome?.sub],
          [t("test.scopes"), outcome?.scopes],
        ]}
      />
      <h2>{t("test.rule")}</h2>
      <List
        t={t}
        items={rules.map(({ rule_id: id, matches, reasons }) => ({
          name: id,
          note: matches ? t("test.matches") : undefined,
          detail: reasons,
        }))}
      />
    </section>
  );
}
