import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import type { ShownEvent } from "@edge-op/shared/audit/list-events";
import type { Paged } from "../api/resources.ts";
import { definePage } from "../serve/define-page.tsx";
import type { ConsoleKey } from "../serve/messages.ts";
import { Actions, bytesInPage, clip, countFitting, type Fact, Facts, Head, List, Pager } from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";

/** Members with words, in the order in which they are shown. Those of `detail` that have none keep the names of the API. */
const labels: Readonly<Record<string, ConsoleKey>> = {
  time: "event.time",
  target: "event.target",
  reason: "event.reason",
  fields: "event.fields",
  sub: "audit.bySub",
  client_id: "audit.byClient",
  actor: "audit.byActor",
  actor_client_id: "event.actorClient",
  amr: "event.amr",
  scope: "event.scope",
  address: "event.address",
  request_id: "audit.byRequest",
};

/** Bytes of the facts of one event: a page has thirty of them, and 50 kB. */
const longestFacts = 1_200;
const longestValue = 160;
/** Of the elements of a fact. */
const markup = 45;

/** **What an audit event says, as names and values**: its own members and those of its detail, also those below other members. */
export function eventFacts(t: PageCall["t"], event: ShownEvent): readonly Fact[] {
  const { type: _, position, detail, shard, seq: __, hash: ___, ...members } = event;
  const given = new Map(textsOf({ ...detail, ...members }));
  const known = Object.entries(labels).flatMap(([name, label]): Fact[] => {
    const value = given.get(name);
    return value === undefined || !given.delete(name) ? [] : [[t(label), value]];
  });
  const others = [...given].map(([name, value]): Fact => [name, value, "data"]);
  const facts: readonly Fact[] = [...known, ...others, [t("event.position"), `${position} · ${shard}`]];
  const bytes = facts.map(([name, value]) => bytesInPage(`${name}${value}`) + markup);
  const count = countFitting(bytes, longestFacts);
  return count < facts.length ? [...facts.slice(0, count), ["…", `+${facts.length - count}`]] : facts;
}

/** The values of members as texts; a member of a member is `outer.inner`. */
function textsOf(members: Readonly<Record<string, unknown>>, outer = ""): (readonly [string, string])[] {
  return Object.entries(members).flatMap(([member, value]) => {
    const name = `${outer}${member}`;
    if (isJsonObject(value)) return textsOf(value, `${name}.`);
    const isPlain = Array.isArray(value) && value.every((each) => typeof each !== "object");
    const text = typeof value === "string" ? value : isPlain ? value.join(", ") : JSON.stringify(value);
    return text === "" ? [] : [[name, text.length > longestValue ? `${text.slice(0, longestValue)}…` : text]];
  });
}

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
