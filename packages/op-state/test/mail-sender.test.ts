import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { MailSenderRpc, PreparedNotice } from "@edge-op/shared/users/mail-sender-rpc";
import { expect, it } from "vitest";
import { type MailRow, MailRows } from "../src/mail/mail-rows.ts";

const { MAIL_SENDER: namespace } = env as unknown as { readonly MAIL_SENDER: DurableObjectNamespace<MailSenderRpc> };

const notice: PreparedNotice = {
  id: "request-1.password-changed",
  sub: "alice-is-nobody",
  kind: "password-changed",
  atMs: 1_900_000_000_000,
  evidence: { action: "password.changed", target: "alice-is-nobody", requestId: "request-1" },
};

function rowsOf(stub: DurableObjectStub<MailSenderRpc>) {
  return runInDurableObject(stub, (_, { storage }) =>
    storage.sql.exec<{ id: string; step: number; content: string }>("SELECT id, step, content FROM mails").toArray(),
  );
}

it("a mail is prepared once, its content is sealed, and its release makes it due", async () => {
  const stub = namespace.getByName("prepared");
  expect(await Promise.all([stub.prepare(notice), stub.prepare(notice)])).toEqual([true, true]);
  const [row, ...others] = await rowsOf(stub);
  expect(others).toEqual([]);
  expect(row).toMatchObject({ id: notice.id, step: 0 });
  expect(row!.content).not.toContain("alice");
  expect(row!.content).not.toContain("password");
  await stub.release(notice.id);
  expect((await rowsOf(stub))[0]).toMatchObject({ step: 1 });
  const alarmMs = await runInDurableObject(stub, (_, { storage }) => storage.getAlarm());
  expect(alarmMs! - Date.now()).toBeLessThan(1_000);
});

it("a person without a verified address gets no mail: the row is deleted", async () => {
  const stub = namespace.getByName("nobody");
  await stub.prepare(notice);
  await stub.release(notice.id);
  await runDurableObjectAlarm(stub);
  await expect.poll(() => rowsOf(stub)).toEqual([]);
  expect(await stub.status()).toEqual({ waiting: 0, refused: 0, refusedSinceMs: undefined });
});

it("ten thousand mails wait at most", async () => {
  const stub = namespace.getByName("full");
  expect(await stub.prepare(notice)).toBe(true);
  await runInDurableObject(stub, (_, { storage }) => {
    storage.sql.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO mails SELECT 'm' || i, 2, 0, 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 0, iif(i = 1, 0, ?1), ?1 FROM n`,
      Date.now() + 3_600_000,
    );
  });
  // The object counts its rows after each alarm, which deletes the one that is due and cannot be opened.
  await stub.release("another");
  await runDurableObjectAlarm(stub);
  await expect.poll(async () => (await stub.status()).waiting).toBe(10_000);
  expect(await stub.prepare({ ...notice, id: "request-2.password-changed" })).toBe(false);
  expect((await stub.status()).waiting).toBe(10_000);
});

it("new mails are sent before repeated ones, each in the order in which they are due", async () => {
  const stub = namespace.getByName("order");
  const order = await runInDurableObject(stub, (_, { storage }) => {
    const rows = new MailRows(storage);
    const insert = (id: string, tries: number, dueAtMs: number) => {
      const row: MailRow = { id, step: "addressed", tries, content: "", createdAtMs: 0, dueAtMs, untilMs: 1_000 };
      rows.insert(row);
    };
    insert("repeated", 3, 1);
    insert("second", 0, 20);
    insert("first", 0, 10);
    insert("later", 0, 200);
    return rows.due(100, 10).map(({ id }) => id);
  });
  expect(order).toEqual(["first", "second", "repeated"]);
});
