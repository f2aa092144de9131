import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { limits } from "@edge-op/shared/config/limits";
import { controlPlane } from "@edge-op/shared/control/commit-control-change";
import { heldKinds, heldTables } from "@edge-op/shared/held-records/held-records";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { callObject } from "@edge-op/shared/storage/call-object";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { everyId } from "@edge-op/shared/storage/record-kinds";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminCall, type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, nextCursor, pageQuery, readCursor } from "../admin/list-page.ts";

const path = "/held-records";
/** Everything that a client, user, issuer, role or resource may do can depend on it, so the scope is that of the deployment. */
const scope = "admin:shards";
const atOnce = 200;

const kind = z.enum(heldKinds).describe("The kind of the record.");
const id = z.string().min(1).max(512).describe("A sub, client_id, issuer_id, upstream_id, host, identifier or name.");

const heldSchema = z
  .strictObject({
    kind,
    id,
    lost: z
      .string()
      .describe("The action of the newest change that was lost. The audit log has all of them: `target` is the id."),
    held_at: z.int().describe("Seconds since the epoch."),
  })
  .meta({ id: "HeldRecord", examples: [{ kind: "client", id: "photos", lost: "secret.delete", held_at: 1795000000 }] });

const rowSchema = z.object({ kind, id: z.string(), lost: z.string(), held_at_ms: z.number() });

const list = defineRoute({
  method: "GET",
  path,
  operationId: "listHeldRecords",
  summary:
    "Lists records that are refused because the database was restored to before their newest changes, a page at a time. Each call has the control plane look for a restoration, within seconds.",
  scope,
  query: pageQuery,
  response: {
    status: 200,
    description: "A page of records.",
    schema: z
      .strictObject({ held_records: z.array(heldSchema), next_cursor: nextCursor })
      .meta({ id: "HeldRecordList" }),
  },
  async handle({ context, query: { cursor, limit } }) {
    await callObject("control plane", async () => controlPlane(context).wakeAudit(), limits.objectCallMs);
    const [, afterKind = "", afterId = ""] = /^(\S*) (.*)$/s.exec(readCursor(cursor)) ?? [];
    const select = context.env.DB.prepare(
      "SELECT * FROM held_records WHERE (kind, id) > (?1, ?2) ORDER BY kind, id LIMIT ?3",
    ).bind(afterKind, afterId, limit + 1);
    const { results } = await queryDatabase(() => select.all());
    const { page, next } = cutPage(z.array(rowSchema).parse(results), limit, (row) => `${row.kind} ${row.id}`);
    const shown = page.map(({ held_at_ms: heldAtMs, ...row }) => ({ ...row, held_at: toSeconds(heldAtMs) }));
    return { body: { held_records: shown, ...next } };
  },
});

const decisionSchema = z
  .strictObject({
    decision: z
      .enum(["restore", "refuse"])
      .describe(
        "`restore`: the record may do again what the restored database says, unless it was changed since. `refuse`: it stays suspended, disabled, denied or empty until somebody changes it.",
      ),
    records: z
      .array(z.strictObject({ kind, id }))
      .min(1)
      .max(atOnce)
      .exactOptional()
      .describe(`Without it, ${atOnce} of all that are held.`),
  })
  .meta({ id: "HeldRecordDecision" });

type Decision = z.output<typeof decisionSchema>;

const decide = defineRoute({
  method: "POST",
  path: `${path}/decision`,
  operationId: "decideHeldRecords",
  summary: "Decides about held records. In force everywhere when the call returns.",
  scope,
  body: decisionSchema,
  response: {
    status: 200,
    description: "The decision.",
    schema: z
      .strictObject({
        decided: z.int().min(0).describe("Records that were held."),
        more: z.boolean().describe("Whether records are still held."),
      })
      .meta({ id: "HeldRecordsDecided", examples: [{ decided: 3, more: false }] }),
  },
  async handle(call) {
    const chosen = await findChosen(call);
    if (chosen.length > 0) await commitDecision(call, chosen);
    const { DB } = call.context.env;
    const more = await queryDatabase(() => DB.prepare("SELECT 1 FROM held_records LIMIT 1").first());
    return { body: { decided: chosen.length, more: more !== null } };
  },
});

type Chosen = Pick<z.output<typeof rowSchema>, "kind" | "id">;

async function findChosen({ context, body: { records } }: AdminCall<Decision, undefined>): Promise<Chosen[]> {
  const named = "(kind, id) IN (SELECT value ->> 'kind', value ->> 'id' FROM json_each(?1))";
  const select = context.env.DB.prepare(
    `SELECT * FROM held_records WHERE ${records === undefined ? "?1 = 'null'" : named} ORDER BY kind, id LIMIT ?2`,
  ).bind(JSON.stringify(records ?? null), atOnce);
  return z.array(rowSchema).parse((await queryDatabase(() => select.all())).results);
}

async function commitDecision(call: AdminCall<Decision, undefined>, chosen: readonly Chosen[]): Promise<void> {
  const { context, actor, body } = call;
  const { DB } = context.env;
  const kinds = [...Map.groupBy(chosen, (record) => record.kind)];
  const statements = kinds.flatMap(([of, records]) => {
    const ids = JSON.stringify(records.map((record) => record.id));
    const held = "kind = ?2 AND id IN (SELECT value FROM json_each(?1))";
    const restore = DB.prepare(heldTables[of].restore).bind(ids, nowMs());
    const event = DB.prepare(
      `INSERT INTO admin_events (at_ms, action, target, client_id, sub, detail, request_id)
         SELECT ?3, kind || '.decided', id, ?4, ?5, ?6, ?7 FROM held_records WHERE ${held} ORDER BY id`,
    ).bind(ids, of, nowMs(), actor.clientId, actor.sub, JSON.stringify({ decision: body.decision }), context.requestId);
    const end = DB.prepare(`DELETE FROM held_records WHERE ${held}`).bind(ids, of);
    return body.decision === "restore" ? [restore, event, end] : [event, end];
  });
  const copies = new Set(kinds.flatMap(([of]) => heldTables[of].copies));
  await commitChange(call, {
    statements,
    forget: [...copies].map((copy) => ({ kind: copy, id: everyId })),
    event: {
      action: "deployment.decide",
      target: context.settings.issuer,
      detail: { decision: body.decision, records: chosen.length },
    },
  });
}

/**
 * **`/admin/held-records`**: what is refused after D1 was restored to an earlier moment, and the decisions about it (ADR 11). Cost: a list 1 D1 and 1
 * object call; a decision 3 D1 calls and a round of the control plane.
 */
export const heldRecordRoutes: readonly AdminRoute[] = [list, decide];
