import type { Paged } from "../api/resources.ts";
import { defineChange } from "../serve/define-change.tsx";
import { definePage } from "../serve/define-page.tsx";
import { Actions, Done, Facts, Head, List, Pager, RecordHead } from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";
import { type IssuerResource, issuerPath, issuersPath } from "./issuer-paths.ts";
import { type IssuerKey, issuerMessages } from "./messages.ts";
import { testRules } from "./test-rules.tsx";

const scope = "admin:issuers";
const messages = issuerMessages;

const list = definePage<IssuerKey>({
  path: issuersPath,
  scope,
  operations: ["listIssuers"],
  messages,
  async show({ api, t, query, path }) {
    const found = await api.get<Paged & { readonly issuers: readonly IssuerResource[] }>("/issuers", {
      cursor: query.get("cursor") ?? undefined,
    });
    const children = (
      <>
        <Head title={t("issuers.title")} text={t("issuers.text")} />
        <List
          t={t}
          items={found.issuers.map(({ issuer_id: id, issuer, status }) => ({
            name: issuer,
            note: status === "disabled" ? t("issuer.disabled") : undefined,
            detail: [id],
            actions: [{ href: issuerPath(id), text: t("list.open") }],
          }))}
        />
        <Pager t={t} path={path} query={query} next={found.next_cursor} />
      </>
    );
    return { title: t("issuers.title"), children };
  },
});

const apiPath = (at: Pick<PageCall<IssuerKey>, "parameter">) => `/issuers/${encodeURIComponent(at.parameter("id"))}`;

const one = definePage<IssuerKey>({
  path: `${issuersPath}/:id`,
  scope,
  operations: ["readIssuer"],
  messages,
  async show(at) {
    const { api, t, query } = at;
    const issuer = await api.get<IssuerResource>(apiPath(at));
    const { issuer_id: id, status, algorithms, rules = [] } = issuer;
    const isActive = status === "active";
    const children = (
      <>
        <RecordHead kind={t("issuer.kind")} name={issuer.issuer} />
        <Done t={t} query={query} />
        <Facts
          t={t}
          facts={[
            [t("issuer.status"), status],
            [t("issuer.algorithms"), algorithms],
            [t("issuer.rules"), rules.map(({ rule_id: rule }) => rule)],
          ]}
        />
        <Actions
          actions={[
            { href: issuerPath(id, "/test"), text: t("test.title") },
            isActive
              ? { href: issuerPath(id, "/disable"), text: t("issuer.disable"), isDangerous: true }
              : { href: issuerPath(id, "/enable"), text: t("issuer.enable") },
          ]}
        />
        <details>
          <summary>{t("issuer.document")}</summary>
          <pre class="secret">{JSON.stringify(issuer, null, 2)}</pre>
        </details>
      </>
    );
    return { title: `${t("issuer.kind")} ${issuer.issuer}`, children };
  },
});

const setStatus = (name: "disable" | "enable") => {
  const back = (at: PageCall<IssuerKey>) => issuerPath(at.parameter("id"));
  return defineChange<IssuerKey>({
    path: `${issuersPath}/:id/${name}`,
    scope,
    operations: ["readIssuer", "updateIssuer"],
    messages,
    title: `issuer.${name}Title`,
    ends: `issuer.${name}Ends`,
    submit: `issuer.${name}Submit`,
    ...(name === "disable" ? { isDangerous: true as const } : {}),
    async find(at) {
      const { body, etag } = await at.api.send<IssuerResource>({ method: "GET", path: apiPath(at) });
      return { name: body.issuer, etag };
    },
    request: (at) => ({
      method: "PATCH",
      path: apiPath(at),
      body: { status: name === "disable" ? "disabled" : "active" },
    }),
    done: back,
    back,
  });
};

export const issuerPages: readonly ConsoleRoute[] = [list, one, testRules, setStatus("disable"), setStatus("enable")];
