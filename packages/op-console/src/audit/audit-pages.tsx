import type { ShownEvent } from "@edge-op/shared/audit/shown-event";
import type { Paged } from "../api/resources.ts";
import { definePage } from "../serve/define-page.tsx";
import { Actions, Facts, Head, List, Pager, Search, searched } from "../serve/parts.tsx";
import type { ConsoleRoute } from "../serve/route.ts";
import { type AuditKey, auditMessages } from "./messages.ts";

const auditPath = "/console/audit";
const verificationPath = `${auditPath}/verification`;

const list = definePage<AuditKey>({
  path: auditPath,
  scope: "admin:audit",
  operations: ["listAuditEvents"],
  messages: auditMessages,
  async show({ api, t, query, path }) {
    const names = {
      type: t("audit.byType"),
      target: t("audit.byTarget"),
      sub: t("audit.bySub"),
      client_id: t("audit.byClient"),
      actor: t("audit.byActor"),
      request_id: t("audit.byRequest"),
    };
    const found = await api.get<Paged & { readonly events: readonly ShownEvent[] }>("/audit", {
      ...searched(query, names),
      limit: "30",
      cursor: query.get("cursor") ?? undefined,
    });
    const children = (
      <>
        <Head title={t("audit.title")} />
        <Search t={t} path={path} query={query} conditions={names} isExact />
        <List t={t} items={found.events.map((event) => ({ name: event.type, detail: linesOf(event) }))} />
        <Pager t={t} path={path} query={query} next={found.next_cursor} />
        <Actions actions={[{ href: verificationPath, text: t("audit.verify") }]} />
      </>
    );
    return { title: t("audit.title"), children };
  },
});

/** An event may have a long detail; a page has 50 kB. */
const longestDetail = 300;

function linesOf({ time, type: _, position, detail, shard: __, seq: ___, hash: ____, ...named }: ShownEvent): string[] {
  const members = Object.entries(named).map(([name, value]) => `${name} ${value}`);
  const more = Object.keys(detail).length === 0 ? "" : JSON.stringify(detail);
  return [
    [time, `#${position}`, ...members].join(" · "),
    more.length > longestDetail ? `${more.slice(0, longestDetail)}…` : more,
  ];
}

interface Verification {
  readonly valid: boolean;
  readonly from: number;
  readonly to: number;
  readonly chain: string;
  readonly broken?: { readonly position: number; readonly reason: string };
  readonly gaps: readonly { readonly shard: string; readonly from_seq: number; readonly to_seq: number }[];
  readonly next_from?: number;
}

const verification = definePage<AuditKey>({
  path: verificationPath,
  scope: "admin:audit",
  operations: ["verifyAuditLog"],
  messages: auditMessages,
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
