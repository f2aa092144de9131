import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

/**
 * Sweeps keep up: only the alarm deletes the rows of a backlog, a bounded number at a time, and the next alarm follows immediately while more rows
 * have expired. The scale is 1 : 18 of the 45,000 rows that an hour without alarms leaves at the busiest object.
 */
const start = Date.parse("2030-01-01T00:00:00Z");
const day = 86_400_000;
const backlog = 2_500;
/** The maximum delay of a sweep's alarm while expired rows are left. */
const latestMs = 1_000;

type Objects = Readonly<Record<string, DurableObjectNamespace<undefined>>>;
const objects = env as unknown as Objects;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
});
afterEach(() => {
  vi.useRealTimers();
});

/** `i` is the row's number, `at` the time at which it expired. */
const insert = (into: string, values: string) =>
  `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${backlog})
     INSERT INTO ${into} SELECT ${values.replaceAll("at", String(start - day))} FROM numbers`;

it.each([
  ["TOKEN_REVOCATION_STORE", "revoked", insert("revoked (key, until_ms, seq)", "'g:' || i, at, 1"), 1_000],
  ["TOKEN_REVOCATION_STORE", "operations", insert("operations", "i, at"), 1_000],
  [
    "REFRESH_TOKEN_ROTATOR",
    "family",
    insert(
      "family (grant_id, family, version, rotated_at_ms, replays, status, successor, expires_at_ms)",
      "i, '{}', 0, 0, 0, 'live', '{}', at",
    ),
    1_000,
  ],
  ["AUTHORIZATION_CODE_STORE", "spent_code", insert("spent_code", "i, i, at"), 1_000],
  ["SESSION_STORE", "sessions", insert("sessions", "i, i, 'alice', 0, '[]', 1, 0, at, NULL, at"), 200],
  [
    "SESSION_STORE",
    "session_grants",
    insert("session_grants (grant_id, sid, client_id, address, until_ms)", "i, 'sid', 'app', '{}', at"),
    1_000,
  ],
  ["SESSION_STORE", "due_revocation", insert("due_revocation", "i, '{}', at, NULL, '[]'"), 1_000],
  ["SESSION_STORE", "attempts", insert("attempts", "i, 1, 0, at"), 500],
  ["SESSION_STORE", "spent_names", insert("spent_names", "i, at"), 500],
  ["SESSION_STORE", "throttle_reports", insert("throttle_reports", "i, at"), 500],
  ["CHALLENGE_STORE", "challenge", insert("challenge", "i, NULL, at"), 1_000],
])("%s: a backlog of %s is deleted in consecutive bounded sweeps", async (binding, table, fill, atMost) => {
  const stub = objects[binding]!.getByName(`growth:${table}`);
  const state = () =>
    runInDurableObject(stub, async (_, { storage }) => ({
      rows: storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n,
      alarmMs: await storage.getAlarm(),
    }));
  await runInDurableObject(stub, async (_, { storage }) => {
    storage.sql.exec(fill);
    await storage.setAlarm(start);
  });
  let left = backlog;
  for (let alarm = 0; left > 0 && alarm <= backlog / atMost + 1; alarm += 1) {
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    const { rows, alarmMs } = await state();
    expect(left - rows).toBe(Math.min(left, atMost));
    left = rows;
    if (left > 0) expect(alarmMs).toBeLessThanOrEqual(Date.now() + latestMs);
    vi.setSystemTime(Math.max(Date.now(), alarmMs ?? 0));
  }
  expect(left).toBe(0);
});

it("audit_outbox: events that D1 has are deleted in bounded sweeps, also after an outage; the newest is kept", async () => {
  const stub = objects["AUTHORIZATION_CODE_STORE"]!.getByName("growth:audit_outbox");
  await runInDurableObject(stub, async (_, { storage }) => {
    storage.sql.exec(insert("audit_outbox", "i, at, 'type', '{}', 'p', 'h'"));
    storage.sql.exec("UPDATE audit_cursor SET sent_seq = ?", backlog);
    await storage.setAlarm(start);
  });
  const { AUDIT_DB } = env as unknown as { AUDIT_DB: D1Database };
  const watermark = "INSERT OR REPLACE INTO audit_watermarks (shard, seq) VALUES (?1, ?2)";
  await AUDIT_DB.prepare(watermark).bind("growth:audit_outbox", backlog).run();
  const seqs: unknown[] = [];
  for (let alarm = 0; alarm < 3; alarm += 1) {
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    seqs.push(
      await runInDurableObject(
        stub,
        (_, { storage }) =>
          storage.sql.exec<{ first: number }>("SELECT min(seq) AS first FROM audit_outbox").one().first,
      ),
    );
  }
  expect(seqs).toEqual([1_001, 2_001, backlog]);
});
