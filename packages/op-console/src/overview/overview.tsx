import type { ShownEvent } from "@edge-op/shared/audit/list-events";
import type { DeploymentReport, KeyResource } from "../api/resources.ts";
import { eventWords } from "../audit/audit-pages.tsx";
import { type HeldRecords, heldPath } from "../held-records/held-record-pages.tsx";
import { definePage } from "../serve/define-page.tsx";
import { Actions, Facts, Head, List, Section, timeText } from "../serve/parts.tsx";
import { mayUse } from "../serve/route.ts";

const newest = "8";

/** **The first page**: the parts that the person's scopes allow, read at the same time. Nothing is counted. */
export const overviewRoutes = [
  definePage({
    path: "/console",
    scope: undefined,
    operations: ["listAuditEvents", "reportDeployment", "listKeys", "listHeldRecords"],
    async show({ api, session, t, frame, context }) {
      const [audit, deployment, keys, held] = await Promise.all([
        mayUse(session, "admin:audit")
          ? api.get<{ readonly events: readonly ShownEvent[] }>("/audit", { limit: newest })
          : undefined,
        mayUse(session, "admin:shards") ? api.get<DeploymentReport>("/deployment") : undefined,
        mayUse(session, "admin:keys") ? api.get<{ readonly keys: readonly KeyResource[] }>("/keys") : undefined,
        mayUse(session, "admin:shards") ? api.get<HeldRecords>("/held-records", { limit: "1" }) : undefined,
      ]);
      const { issuer } = context.settings;
      const active = keys?.keys.filter(({ state }) => state === "active");
      const children = (
        <>
          <Head title={t("overview.title")} text={t("overview.text", { provider: frame.branding.name, issuer })} />
          {session.scopes.length === 0 && <p>{t("overview.none")}</p>}
          {held?.held_records[0] && (
            <>
              <p class="note bad" id="held">
                {t("overview.held")}
              </p>
              <Actions actions={[{ href: heldPath, text: t("overview.toHeld") }]} />
            </>
          )}
          {deployment && (
            <Section title={t("overview.deployment")}>
              <Facts
                t={t}
                facts={[
                  [t("overview.version"), deployment.worker.version],
                  [t("overview.objects"), deployment.objects.length],
                  [t("overview.unreachable"), deployment.unreachable],
                ]}
              />
            </Section>
          )}
          {active && (
            <Section title={t("overview.keys")}>
              <List
                t={t}
                items={active.map(({ kid, alg, state, sign_until: until }) => ({
                  name: `${alg} ${kid}`,
                  detail: [t("overview.until", { state, time: timeText(until) ?? "" })],
                }))}
              />
            </Section>
          )}
          {audit && (
            <Section title={t("overview.events")}>
              <List
                t={t}
                items={audit.events.map(({ type, time, actor, sub, client_id: client }) => ({
                  name: eventWords(t, type),
                  detail: [[timeText(Date.parse(time) / 1000), actor, sub, client].filter(Boolean).join(" · ")],
                }))}
              />
            </Section>
          )}
          {session.scopes.length > 0 && (
            <Section title={t("overview.permissions")}>
              <Facts t={t} facts={[[t("overview.scopes"), session.scopes]]} />
            </Section>
          )}
        </>
      );
      return { title: t("overview.title"), children };
    },
  }),
];
