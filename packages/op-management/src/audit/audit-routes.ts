/**
 * **`/admin/audit`**: the audit log (ADR 35), its gaps and its verification. Reads only the audit database and the
 * segments that were sealed from it. Cost: 1 or 2 D1 calls, and 8 R2 calls at most.
 */

import { findEvents } from "@edge-op/shared/audit/find-events";
import { showEvent } from "@edge-op/shared/audit/list-events";
import { queryAuditDatabase } from "@edge-op/shared/storage/query-database";
import * as z from "zod";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, invalidCursor, nextCursor, pageQuery, readCursor } from "../admin/list-page.ts";
import { eventSchema, moment, readPlace, writePlace } from "./event-resource.ts";
import { reviewLog } from "./verify-log.ts";

const scope = "admin:audit";

const id = z.string().min(1).max(256);

const list = defineRoute({
  method: "GET",
  path: "/audit",
  operationId: "listAuditEvents",
  summary: "Lists audit events, newest first.",
  scope,
  query: pageQuery.extend({
    sub: id.optional().describe("Events about this person."),
    client_id: id.optional().describe("Events about this client."),
    actor: id.optional().describe("Events that this subject caused."),
    target: id.optional().describe("Administrative changes of this record: a client_id, sub, kid, role, …"),
    request_id: id
      .optional()
      .describe(
        "Events of this request: the `request_id` of its error or log line. In the archive every segment of the time is read, 8 on a page: give `from` and `to`.",
      ),
    type: id.optional().describe("A type, or a prefix of types followed by `*`: `sign-in.*`."),
    from: moment.optional().describe("At this time or later: RFC 3339, or seconds since the epoch."),
    to: moment.optional().describe("Before this time."),
  }),
  response: {
    status: 200,
    description:
      "A page of events. With two of `sub`, `client_id`, `actor`, `target` and `request_id` it looks at 500 events, and of the archive at 200 segments, and may be short, or empty, while `next_cursor` is present.",
    schema: z.strictObject({ events: z.array(eventSchema), next_cursor: nextCursor }).meta({ id: "AuditEventList" }),
  },
  async handle({ context, query }) {
    const { limit, cursor, client_id: clientId, request_id: requestId, from: fromMs, to: toMs, ...others } = query;
    const filter = { ...others, clientId, requestId, fromMs, toMs, before: readPlace(cursor) };
    const { rows, next } = await findEvents(context.env, filter, limit);
    return { body: { events: rows.map(showEvent), ...(next && { next_cursor: writePlace(next) }) } };
  },
});

const breakSchema = z.strictObject({
  position: z.int().describe("The first position at which the log differs from what was written."),
  shard: z.string().optional(),
  seq: z.int().optional(),
  reason: z.string(),
});

const gapSchema = z.strictObject({
  shard: z.string().describe("The object whose events were lost."),
  from_seq: z.int(),
  to_seq: z.int().describe("Inclusive."),
});

const listedGapSchema = gapSchema
  .extend({ recorded: z.string().describe("When the loss was detected (RFC 3339).") })
  .meta({
    id: "AuditGap",
    examples: [{ shard: "session:g1:wnam:3", from_seq: 118, to_seq: 131, recorded: "2026-11-18T11:06:40.000Z" }],
  });

const verify = defineRoute({
  method: "GET",
  path: "/audit/verification",
  operationId: "verifyAuditLog",
  summary: "Verifies the chain over a range of positions, from the first stored event by default.",
  scope,
  query: z.strictObject({
    from: z.coerce.number().int().min(1).optional().describe("The first position."),
    to: z.coerce.number().int().min(1).optional().describe("The last position."),
    limit: z.coerce.number().int().min(1).max(5000).default(2000).describe("Events that are verified by this request."),
  }),
  response: {
    status: 200,
    description: "The result, for as many events as the limit allows.",
    schema: z
      .strictObject({
        valid: z.boolean(),
        from: z.int().describe("The first position that was verified."),
        to: z.int().describe("The last one."),
        store: z
          .enum(["database", "archive"])
          .describe(
            "Where this part of the log is: `AUDIT_DB`, or the bucket `AUDIT_EXPORT`, of which a request verifies at least one segment.",
          ),
        chain: z.string().describe("The chain value at `to`, hex: it identifies the history up to there."),
        broken: breakSchema.optional().describe("The first break."),
        gaps: z.array(gapSchema).describe("Recorded losses within the range."),
        next_from: z.int().optional().describe("`from` of the request that continues; absent at the end."),
      })
      .meta({
        id: "AuditVerification",
        examples: [
          {
            ...{ valid: true, from: 1, to: 1842, store: "database", gaps: [] },
            chain: "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
          },
        ],
      }),
  },
  async handle({ context, query }) {
    const { from, to, store, chain, broken, gaps, next } = await reviewLog(context.env, query);
    return {
      body: {
        valid: broken === undefined,
        from,
        to,
        store,
        chain,
        ...(broken === undefined ? {} : { broken }),
        gaps: gaps.map(({ shard, fromSeq, toSeq }) => ({ shard, from_seq: fromSeq, to_seq: toSeq })),
        ...(next === undefined ? {} : { next_from: next + 1 }),
      },
    };
  },
});

interface GapRow {
  readonly shard: string;
  readonly from_seq: number;
  readonly to_seq: number;
  readonly recorded_at_ms: number;
}

/** The condition that selects the page after a gap; every gap without a cursor. */
function placeOfGap(cursor: string | undefined): { readonly place: string; readonly values: (string | number)[] } {
  if (cursor === undefined) return { place: "true", values: [] };
  const [, atMs, seq, shard] = /^(\d{1,15})\.(\d{1,15})\.(.*)$/.exec(readCursor(cursor)) ?? [];
  if (shard === undefined) throw invalidCursor();
  return { place: "(recorded_at_ms, shard, from_seq) < (?, ?, ?)", values: [Number(atMs), shard, Number(seq)] };
}

const listGaps = defineRoute({
  method: "GET",
  path: "/audit/gaps",
  operationId: "listAuditGaps",
  summary: "Lists events that were lost when the audit database was restored to an earlier time, newest first.",
  scope,
  query: pageQuery,
  response: {
    status: 200,
    description: "A page of gaps.",
    schema: z
      .strictObject({
        gaps: z.array(listedGapSchema),
        next_cursor: nextCursor,
      })
      .meta({ id: "AuditGapList" }),
  },
  async handle({ context, query: { limit, cursor } }) {
    const { place, values } = placeOfGap(cursor);
    const select = context.env.AUDIT_DB.prepare(
      `SELECT * FROM audit_gaps WHERE ${place} ORDER BY recorded_at_ms DESC, shard DESC, from_seq DESC LIMIT ?`,
    ).bind(...values, limit + 1);
    const { results } = await queryAuditDatabase(() => select.all<GapRow>());
    const keyOf = ({ recorded_at_ms: atMs, from_seq: seq, shard }: GapRow) => `${atMs}.${seq}.${shard}`;
    const { page, next } = cutPage(results, limit, keyOf);
    const gaps = page.map(({ recorded_at_ms: atMs, ...gap }) => ({ ...gap, recorded: new Date(atMs).toISOString() }));
    return { body: { gaps, ...next } };
  },
});

export const auditRoutes: readonly AdminRoute[] = [list, verify, listGaps];
