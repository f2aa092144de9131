import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { CodeMail, MailSenderRpc, PreparedNotice } from "@edge-op/shared/mail/mail-sender-rpc";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { describe, expect, it } from "vitest";
import { findChange } from "../src/mail/find-change.ts";
import { type AddressHolder, decideRecipient, findHolder, openAddressedMail } from "../src/mail/find-recipient.ts";
import { sendLimits } from "../src/mail/mail-limits.ts";
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

it("the link that takes back what was added is for the oldest address, also if another one has replaced it; a hold that has ended is none", async () => {
  const { DB } = env as unknown as { readonly DB: D1Database };
  const atMs = 1_000_000;
  const address =
    "INSERT INTO user_addresses (address_key, sub, verified_at_ms, held_until_ms) VALUES (?1, 'pat', ?2, ?3)";
  await DB.batch([
    DB.prepare(
      `INSERT INTO users (sub, username, username_key, claims, created_at_ms, updated_at_ms)
         VALUES ('pat', 'pat', 'pat', '{"locale":"en-GB","zoneinfo":"Asia/Tokyo"}', 0, 0)`,
    ),
    DB.prepare(address).bind("pat@example.org", 3, null),
    DB.prepare(address).bind("before@example.org", 2, atMs + 1),
    DB.prepare(address).bind("ended@example.org", 1, atMs),
  ]);
  const change = { ...notice, type: "notice", sub: "pat", atMs } as const;
  const before = { key: "before@example.org", address: "before@example.org" };
  expect(await findChange(DB, change)).toMatchObject({
    ...{ isCommitted: false, oldest: before, locale: "en-GB", zoneinfo: "Asia/Tokyo" },
  });
  const held = { to: { key: "pat@example.org", address: "pat@example.org" } };
  expect(await findHolder(DB, held, atMs)).toMatchObject({ holder: { sub: "pat", zoneinfo: "Asia/Tokyo" } });
  await DB.prepare("DELETE FROM users WHERE sub = 'pat'").run();
  expect(await findChange(DB, change)).toMatchObject({ oldest: undefined, addresses: [] });
});

it("a recovery by mail alone is told to all addresses at once, each with the link that stops it, and behind no other mail", async () => {
  const { DB } = env as unknown as { readonly DB: D1Database };
  const address = "INSERT INTO user_addresses (address_key, sub, verified_at_ms) VALUES (?1, 'rec', 0)";
  await DB.batch([
    DB.prepare(
      "INSERT INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES ('rec', 'rec', 'rec', 0, 0)",
    ),
    ...["one@example.org", "two@example.org"].map((key) => DB.prepare(address).bind(key)),
  ]);
  const stub = namespace.getByName("recovery");
  const undo = { path: "/account/recovery/stop?token=x" };
  await stub.prepare({ ...notice, kind: "recovery-asked", sub: "rec", atMs: Date.now(), undo });
  await stub.release(notice.id);
  await runDurableObjectAlarm(stub);
  const open = async ({ id, content }: { readonly id: string; readonly content: string }) =>
    openAddressedMail(env as unknown as MasterKeyBindings, id, content);
  const mails = await Promise.all((await rowsOf(stub)).map(open));
  expect(mails.map((mail) => mail && { to: mail.to, undoPath: "undoPath" in mail && mail.undoPath })).toEqual(
    ["one@example.org", "two@example.org"].map((to) => ({ to, undoPath: undo.path })),
  );
  expect(sendLimits("recovery-asked", "key").map(({ key }) => key)).toEqual(["all mails recovery-asked"]);
  await DB.prepare("DELETE FROM users WHERE sub = 'rec'").run();
});

it("the branding in force comes with what a mail reads anyway, also for an address that nobody has; logos as data do not", async () => {
  const { DB } = env as unknown as { readonly DB: D1Database };
  const change = { ...notice, type: "notice" } as const;
  const to = { to: { key: "nobody@example.org", address: "nobody@example.org" } };
  const both = async () => [await findHolder(DB, to, 1), await findChange(DB, change)] as const;
  for (const found of await both()) expect(found).toMatchObject({ branding: undefined });
  expect(await findHolder(DB, to, 1)).toMatchObject({ holder: undefined });
  const logos = { logo_url: "https://acme.example/l.png", logo_url_dark: "data:image/png;base64,AAAA" };
  const rows = [
    ["draft", { brand_color: "#ffffff" }],
    ["current", { brand_color: "#8a1253", ...logos, texts: { mail_footer: { en: "Acme" } } }],
  ] as const;
  for (const [id, document] of rows) {
    const insert = "INSERT INTO branding (id, document, updated_at_ms) VALUES (?1, ?2, 1)";
    await DB.prepare(insert).bind(id, JSON.stringify(document)).run();
  }
  const branding = { brand_color: "#8a1253", logo_url: logos.logo_url, texts: { mail_footer: { en: "Acme" } } };
  for (const found of await both()) expect((found as { branding?: unknown }).branding).toEqual(branding);
  await DB.prepare("DELETE FROM branding").run();
});

it("a person without a verified address gets no mail: the row is deleted", async () => {
  const stub = namespace.getByName("nobody");
  await stub.prepare(notice);
  await stub.release(notice.id);
  await runDurableObjectAlarm(stub);
  await expect.poll(() => rowsOf(stub)).toEqual([]);
  expect(await stub.status()).toEqual({ waiting: 0, refused: 0, refusedSinceMs: undefined });
});

const code: CodeMail = {
  ...{ id: "request-3.code", purpose: "recover", to: { key: "pat@example.com", address: "Pat@example.com" } },
  ...{ code: "01234567", atMs: 1_900_000_000_000, locale: "en", sender: "192.0.2.1", knownBrowser: undefined },
};

it("a code waits for its recipient, sealed; of an address that nobody has, the row is deleted without a mail", async () => {
  const stub = namespace.getByName("code");
  expect(await stub.sendCode(code)).toEqual({ kind: "queued" });
  const [row] = await rowsOf(stub);
  expect(row).toMatchObject({ id: code.id, step: 1 });
  for (const secret of ["01234567", "pat@example.com", "recover"]) expect(row!.content).not.toContain(secret);
  await runDurableObjectAlarm(stub);
  await expect.poll(() => rowsOf(stub)).toEqual([]);
});

it("a mail that was released while its change was looked up is neither deferred nor deleted by that look", async () => {
  const stub = namespace.getByName("released-meanwhile");
  await stub.prepare(notice);
  const due = await runInDurableObject(stub, (_, { storage }) => {
    const rows = new MailRows(storage);
    const [read] = rows.due(Date.now() + 60_000, 1);
    rows.release(notice.id, 5);
    rows.defer(read!, 1_000, 3);
    rows.delete(read!);
    return rows.due(10, 1).map(({ step, tries, dueAtMs }) => ({ step, tries, dueAtMs }));
  });
  expect(due).toEqual([{ step: "released", tries: 0, dueAtMs: 5 }]);
});

it("codes are limited for an address, and for a sender over all addresses; a known browser has a limit of its own, and so have sign-ins", async () => {
  const stub = namespace.getByName("limits");
  const kindsOf = async (mails: readonly Partial<CodeMail>[]) => {
    const kinds: string[] = [];
    for (const mail of mails) kinds.push((await stub.sendCode({ ...code, id: crypto.randomUUID(), ...mail })).kind);
    return kinds;
  };
  const four = Array.from({ length: 4 }, () => ({}));
  expect(await kindsOf(four)).toEqual(["queued", "queued", "queued", "throttled"]);
  expect(await kindsOf(four.map(() => ({ knownBrowser: "b" })))).toEqual(["queued", "queued", "queued", "throttled"]);
  expect(await kindsOf(four.map(() => ({ purpose: "sign-in", sender: undefined })))).toEqual([
    "queued",
    "queued",
    "queued",
    "throttled",
  ]);
  const addresses = Array.from({ length: 25 }, (_, index) => `p${index}@example.com`);
  const sprayed = await kindsOf(addresses.map((key) => ({ to: { key, address: key } })));
  expect(sprayed.filter((kind) => kind === "queued")).toHaveLength(14);
  expect(
    await kindsOf([{ to: { key: "other@example.com", address: "other@example.com" }, sender: "192.0.2.2" }]),
  ).toEqual(["queued"]);
});

describe("what is written to an address for which a code was requested", () => {
  const to = { key: "pat@example.com", address: "PAT@example.com" };
  const holder = { sub: "pat", address: "Pat@example.com", isActive: true, isHeld: false };
  const nobody = undefined;

  it.each<[string, Pick<CodeMail, "purpose" | "sub">, AddressHolder | undefined, string | undefined]>([
    ["a new password, of nobody", { purpose: "recover" }, nobody, undefined],
    ["a new password: to the address as it is stored", { purpose: "recover" }, holder, "recover Pat@example.com"],
    ["a new password, of a suspended person", { purpose: "recover" }, { ...holder, isActive: false }, undefined],
    ["a new password, by an address that was replaced", { purpose: "recover" }, { ...holder, isHeld: true }, undefined],
    ["an address that nobody has", { purpose: "address", sub: "pat" }, nobody, "address PAT@example.com"],
    ["an address of the same person", { purpose: "address", sub: "pat" }, holder, "address PAT@example.com"],
    [
      "an address of another person: told only there",
      { purpose: "address", sub: "eve" },
      holder,
      "address-in-use Pat@example.com",
    ],
    [
      "an address that another person holds",
      { purpose: "address", sub: "eve" },
      { ...holder, isHeld: true },
      "address-in-use Pat@example.com",
    ],
    ["a new account", { purpose: "sign-up" }, nobody, "sign-up PAT@example.com"],
    ["a new account of somebody who has one", { purpose: "sign-up" }, holder, "account-exists Pat@example.com"],
    [
      "a new account with an address that is held",
      { purpose: "sign-up" },
      { ...holder, isHeld: true },
      "address-in-use Pat@example.com",
    ],
  ])("%s", (_, wanted, known, expected) => {
    const recipient = decideRecipient({ ...wanted, to }, known);
    expect(recipient && `${recipient.kind} ${recipient.to}`).toBe(expected);
  });
});

/** The object counts its rows after each alarm, which deletes the one that is due and cannot be opened. */
async function fill(stub: DurableObjectStub<MailSenderRpc>, waiting: number): Promise<void> {
  await runInDurableObject(stub, (_, { storage }) => {
    storage.sql.exec("DELETE FROM mails");
    storage.sql.exec(
      `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
         INSERT INTO mails SELECT 'm' || i, 2, 0, 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 0, iif(i = 0, 0, ?1), ?1 FROM n`,
      Date.now() + 3_600_000,
      waiting,
    );
  });
  await stub.release("another");
  await runDurableObjectAlarm(stub);
  await expect.poll(async () => (await stub.status()).waiting).toBe(waiting);
}

it("ten thousand mails wait at most, and codes leave room for notices", async () => {
  const stub = namespace.getByName("full");
  expect(await stub.prepare(notice)).toBe(true);
  await fill(stub, 7_999);
  expect(await stub.sendCode(code)).toEqual({ kind: "queued" });
  expect(await stub.sendCode({ ...code, id: "request-3" })).toEqual({ kind: "full" });
  expect(await stub.prepare({ ...notice, id: "request-2.password-changed" })).toBe(true);
  await fill(stub, 10_000);
  expect(await stub.prepare({ ...notice, id: "request-4.password-changed" })).toBe(false);
  expect(await stub.sendCode({ ...code, id: "request-5" })).toEqual({ kind: "full" });
  expect((await stub.status()).waiting).toBe(10_000);
});

it("no person fills the outbox: ten notices of a kind wait, and those that an address needs", async () => {
  const stub = namespace.getByName("one-person");
  const prepare = (id: string, more: Partial<PreparedNotice> = {}) =>
    stub.prepare({ ...notice, ...more, id: `flood-${id}.notice` });
  const flood: boolean[] = [];
  for (let count = 0; count < 12; count += 1) flood.push(await prepare(String(count)));
  expect(flood).toEqual([...Array<boolean>(10).fill(true), false, false]);
  expect(await prepare("other-kind", { kind: "app-added" })).toBe(true);
  expect(await prepare("other-person", { sub: "bob" })).toBe(true);
  expect(await prepare("removed", { removed: "alice@example.com" })).toBe(true);
  expect(await prepare("undo", { undo: { address: "alice@example.com", path: "/undo" } })).toBe(true);
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
