import type { Paged } from "../api/resources.ts";
import { recordPath } from "../records/record.ts";
import { definePage } from "../serve/define-page.tsx";
import { Actions, type Fact, Facts, Head, Pager, Search, searched } from "../serve/parts.tsx";
import { type ConsoleRoute, mayUse, type PageCall } from "../serve/route.ts";

interface Refusal {
  readonly request_id: string;
  readonly time: string;
  readonly endpoint?: string;
  readonly method?: string;
  readonly client_id?: string;
  readonly is_authenticated: boolean;
  readonly error: string;
  readonly reason: string;
  readonly explanation: string;
  readonly detail: string;
  readonly remedy: string;
  readonly documentation: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly sent: readonly string[];
    readonly registered?: readonly string[];
  }[];
  readonly omitted_before: number;
}

/** **Why was this refused?** By the id of a request, or the last refusals of a client: the rule, the sent parameters, and how to fix it. */
export const refusalPages: readonly ConsoleRoute[] = [
  definePage({
    path: "/console/refusals",
    scope: "admin:audit",
    operations: ["listRefusals"],
    async show(at) {
      const { api, t, query, path } = at;
      const names = { request_id: t("refusals.byRequest"), client_id: t("refusals.byClient") };
      const found = await api.get<Paged & { readonly refusals: readonly Refusal[] }>("/refusals", {
        ...searched(query, names),
        limit: "10",
        cursor: query.get("cursor") ?? undefined,
      });
      const children = (
        <>
          <Head title={t("refusals.title")} text={t("refusals.text")} />
          <Search t={t} path={path} query={query} conditions={names} isExact />
          {found.refusals.length === 0 && <p class="muted">{t("list.empty")}</p>}
          {found.refusals.map((refusal) => (
            <OneRefusal at={at} refusal={refusal} />
          ))}
          <Pager t={t} path={path} query={query} next={found.next_cursor} />
        </>
      );
      return { title: t("refusals.title"), children };
    },
  }),
];

/** The texts of the API are English, and what was sent is text, whatever it contains. */
function OneRefusal({ at: { t, session }, refusal }: { readonly at: PageCall; readonly refusal: Refusal }) {
  const {
    reason,
    error,
    time,
    client_id: clientId,
    is_authenticated: isAuthenticated,
    omitted_before: omitted,
  } = refusal;
  const facts: readonly Fact[] = [
    [t("refusal.detail"), refusal.detail],
    ...refusal.parameters.flatMap(({ name, sent, registered }): Fact[] => [
      [t("refusal.sent", { name }), sent],
      ...(registered === undefined ? [] : [[t("refusal.registered", { name }), registered] as const]),
    ]),
    [t("refusal.client"), clientId],
    [t("refusal.request"), [`${refusal.method ?? ""} ${refusal.endpoint ?? ""}`.trim(), refusal.request_id]],
  ];
  return (
    <section class="refusal">
      <h2>
        <strong>{reason}</strong>
      </h2>
      <p class="muted small detail">
        {time} · {error}
      </p>
      <h3>{t("refusal.rule")}</h3>
      <p lang="en">{withoutMarks(refusal.explanation)}</p>
      <h3>{t("refusal.mend")}</h3>
      <p lang="en">{withoutMarks(refusal.remedy)}</p>
      <p class="muted small">
        {t("refusal.docs")}: <strong>{refusal.documentation}</strong>
      </p>
      <Facts t={t} facts={facts} />
      {clientId !== undefined && !isAuthenticated && <p class="muted small">{t("refusal.named")}</p>}
      {omitted > 0 && <p class="muted small">{t("refusal.omitted", { count: omitted })}</p>}
      {clientId !== undefined && mayUse(session, "admin:clients") && (
        <Actions actions={[{ href: recordPath("/console/clients", clientId), text: t("refusal.openClient") }]} />
      )}
    </section>
  );
}

/** The code spans of Markdown as text. */
function withoutMarks(markdown: string): string {
  return markdown.replaceAll("`", "");
}
