import type { ShownEvent } from "@edge-op/shared/audit/list-events";
import type { Paged } from "../api/resources.ts";
import { clip } from "../serve/clip.ts";
import { definePage } from "../serve/define-page.tsx";
import { Actions, Facts, Head, List, Pager } from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";
import { eventFacts } from "./event-facts.ts";

export const auditScope = "admin:audit";
const auditPath = "/console/audit";
const verificationPath = `${auditPath}/verification`;

/** The log with conditions. */
export function auditOf(conditions: Readonly<Record<string, string>>): string {
  return `${auditPath}?${new URLSearchParams(conditions)}`;
}

/** The conditions of the admin API, which all apply. Times are those of UTC: a page without scripts does not know the person's. */
const usual = [
  ["type", "audit.byType"],
  ["sub", "audit.bySub"],
  ["from", "audit.from"],
  ["to", "audit.to"],
] as const;
const further = [
  ["client_id", "audit.byClient"],
  ["actor", "audit.byActor"],
  ["target", "audit.byTarget"],
  ["request_id", "audit.byRequest"],
] as const;
const conditions = [...usual, ...further];

function isTime(name: string): boolean {
  return name === "from" || name === "to";
}

/** The moment of a field without a time zone. */
function conditionOf(query: URLSearchParams, name: string): string | undefined {
  const value = query.get(name)?.trim() || undefined;
  return isTime(name) && value !== undefined && /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(value) ? `${value}:00Z` : value;
}

function Conditions({ t, query }: Pick<PageCall, "t" | "query">) {
  const isGiven = ([name]: (typeof conditions)[number]) => Boolean(query.get(name));
  const field = ([name, label]: (typeof conditions)[number]) => (
    <div>
      <label for={name}>{t(label)}</label>
      <input
        type={isTime(name) ? "datetime-local" : "text"}
        id={name}
        name={name}
        value={clip(query.get(name) ?? "", 600)}
        autocomplete="off"
      />
    </div>
  );
  return (
    <form method="get" action={auditPath} class="search">
      {usual.map(field)}
      <details open={further.some(isGiven)}>
        <summary>{t("audit.more")}</summary>
        <div class="search">{further.map(field)}</div>
      </details>
      <button type="submit" class="slim" id="search">
        {t("list.search")}
      </button>
      {conditions.some(isGiven) && (
        <a class="button quiet slim" href={auditPath}>
          {t("list.all")}
        </a>
      )}
    </form>
  );
}

const list = definePage({
  path: auditPath,
  scope: auditScope,
  operations: ["listAuditEvents"],
  async show({ api, t, query, path }) {
    const found = await api.get<Paged & { readonly events: readonly ShownEvent[] }>("/audit", {
      ...Object.fromEntries(conditions.map(([name]) => [name, conditionOf(query, name)])),
      limit: "30",
      cursor: query.get("cursor") ?? undefined,
    });
    const children = (
      <>
        <Head title={t("audit.title")} />
        <Conditions t={t} query={query} />
        <List t={t} items={found.events.map((event) => ({ name: event.type, facts: eventFacts(t, event) }))} />
        <Pager t={t} path={path} query={query} next={found.next_cursor} />
        <Actions actions={[{ href: verificationPath, text: t("audit.verify") }]} />
      </>
    );
    return { title: t("audit.title"), children };
  },
});

interface Verification {
  readonly valid: boolean;
  readonly from: number;
  readonly to: number;
  readonly chain: string;
  readonly broken?: { readonly position: number; readonly reason: string };
  readonly gaps: readonly { readonly shard: string; readonly from_seq: number; readonly to_seq: number }[];
  readonly next_from?: number;
}

const verification = definePage({
  path: verificationPath,
  scope: auditScope,
  operations: ["verifyAuditLog"],
  async show({ api, t, query }) {
    const result = await api.get<Verification>("/audit/verification", { from: query.get("from") ?? undefined });
    const { valid, from, to, chain, broken, gaps, next_from: next } = result;
    const children = (
      <>
        <Head title={t("audit.verification")} text={t("audit.verificationText")} />
        <p class={`note ${valid ? "good" : "bad"}`} role="status" id="result">
          {t(valid ? "audit.valid" : "audit.broken")}
        </p>
        <Facts
          t={t}
          facts={[
            [t("audit.range"), `${from}–${to}`],
            [t("audit.chain"), chain],
            [t("audit.break"), broken && `${broken.position}: ${broken.reason}`],
            [t("audit.gaps"), gaps.map((gap) => `${gap.shard} ${gap.from_seq}–${gap.to_seq}`)],
          ]}
        />
        <Actions
          actions={[
            next === undefined ? undefined : { href: `${verificationPath}?from=${next}`, text: t("audit.continue") },
            { href: auditPath, text: t("audit.toLog") },
          ]}
        />
      </>
    );
    return { title: t("audit.verification"), children };
  },
});

export const auditPages: readonly ConsoleRoute[] = [list, verification];
