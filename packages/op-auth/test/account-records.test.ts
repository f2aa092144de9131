/** **What a person sees of their account**: applications, activity, and everything as a file. */

import { saveConsent } from "@edge-op/shared/users/consents";
import { describe, expect, it, vi } from "vitest";
import { seedClient } from "../../../test/fixtures/seed.ts";
import { authEnv, codeClient, formTokenOf, locationOf, stepOf, useDeployment } from "./fixtures/auth-fixtures.ts";
import { MailedCodes } from "./fixtures/mailed-codes.ts";

const { DB, AUDIT_DB } = authEnv;

const { browser } = useDeployment();

const textOf = (html: string) => html.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");

async function pageText(path = "/account/applications"): Promise<string> {
  return textOf(await (await browser.get(path)).text());
}

async function signIn(): Promise<void> {
  await browser.signIn(locationOf(await browser.get("/account")));
}

async function consent(clientId: string, allowed: readonly string[], atMs: number): Promise<void> {
  await saveConsent(DB, { sub: "alice", clientId, allowed, atMs }).run();
}

/** Programs that have registered themselves. */
async function seedProgram(clientId: string, name: string, redirectUri: string): Promise<void> {
  await seedClient(authEnv, clientId, { ...codeClient, client_name: name, redirect_uris: [redirectUri] });
  const registered = "UPDATE clients SET origin = 'registration', used_at_ms = ?2 WHERE client_id = ?1";
  await DB.prepare(registered).bind(clientId, Date.now()).run();
}

const day = (text: string) => Date.parse(`${text}T12:00:00Z`);

describe("the applications of a person", () => {
  it("have a name, a first day and words of the consent page, with the members of authorization details", async () => {
    await consent(
      "app",
      ["openid", `detail:{"amount":{"currency":"EUR","value":"9.50"},"type":"payment"}`],
      day("2026-03-05"),
    );
    await consent("app", ["email"], day("2026-04-06"));
    await signIn();
    const text = await pageText();
    expect(text).toContain("Example App Access since 5 Mar 2026 Know who you are · See your email address");
    expect(text).toContain("Use “payment” on your behalf · Amount: EUR 9.50");
  });

  it("a program that registered itself three times is one of them, and is ended at once; one of the same name elsewhere is another", async () => {
    for (const [id, port] of [
      ["one", 1001],
      ["two", 1002],
      ["three", 1003],
    ] as const) {
      await seedProgram(id, "Notes", `http://127.0.0.1:${port}/callback`);
      await consent(id, ["openid"], day(`2026-03-0${port - 1000}`));
    }
    await seedProgram("fake", "Notes", "https://fake.example.com/callback");
    await consent("fake", ["openid"], day("2026-03-04"));
    await signIn();
    const html = await (await browser.get("/account/applications")).text();
    expect(html.match(/data-remove="client_id"/g)).toHaveLength(2);
    expect(textOf(html)).toContain("Notes registered itself 3 times · Access since 1 Mar 2026");
    expect(textOf(html)).toContain("Notes registered itself · Access since 4 Mar 2026");
    await browser.post("/account/consents", {
      form_token: formTokenOf(await (await browser.get("/account/security")).text()),
      client_id: "two",
    });
    const { results } = await DB.prepare("SELECT client_id AS id FROM consents").all<{ id: string }>();
    expect(results).toEqual([{ id: "fake" }]);
  });
});

describe("dates and times", () => {
  it.each([
    ["Europe/Berlin", /Signed in \d+ \w+ \d{4},? (at )?\d\d:\d\d CES?T/],
    ["Nowhere/At_All", /Signed in .* UTC/],
    ["", /Signed in .* UTC/],
  ])("zoneinfo %j: the zone of the person, named", async (zoneinfo, expected) => {
    await DB.prepare("UPDATE users SET claims = json_set(claims, '$.zoneinfo', ?1) WHERE sub = 'alice'")
      .bind(zoneinfo)
      .run();
    await signIn();
    expect(await pageText()).toMatch(expected);
  });

  it("of a person without zoneinfo are in the zone where the request comes from", async () => {
    await signIn();
    const page = await browser.once("/account/applications", { cf: { timezone: "Asia/Kolkata" } } as RequestInit);
    expect(textOf(await page.text())).toMatch(/Signed in .* GMT\+5:30/);
  });
});

let events = 0;

async function record(type: string, payload: Readonly<Record<string, unknown>>, atMs: number): Promise<void> {
  events += 1;
  await AUDIT_DB.prepare(
    `INSERT INTO audit_events (position, shard, seq, at_ms, type, payload, previous, hash, chain) VALUES (?1, ?2, ?1, ?3, ?4, ?5, x'00', x'00', x'00')`,
  )
    .bind(events, "test", atMs, type, JSON.stringify(payload))
    .run();
}

describe("GET /account/activity", () => {
  it("says what happened in words, newest first, and of an administrator neither who they are nor where from", async () => {
    await record("sign-in.succeeded", { sub: "alice", clientId: "app", address: "192.0.2.0/24" }, day("2026-03-01"));
    await record("passkey.added", { sub: "alice", actor: "alice", target: "x" }, day("2026-03-02"));
    await record("user.update", { sub: "alice", actor: "root", address: "203.0.113.0/24" }, day("2026-03-03"));
    await record("code.redeemed", { sub: "alice", client_id: "app" }, day("2026-03-04"));
    await record("sign-in.failed", { sub: "bob", address: "198.51.100.0/24" }, day("2026-03-05"));
    await signIn();
    const text = await pageText("/account/activity");
    expect(text).toMatch(
      /An administrator changed the account 3 Mar 2026, 12:00 UTC Passkey added 2 Mar 2026, 12:00 UTC Signed in 1 Mar 2026, 12:00 UTC · Example App · from 192\.0\.2\.0\/24/,
    );
    expect(text).not.toMatch(/root|203\.0\.113|198\.51\.100|redeemed/);
    const german = await browser.once("/account/activity", { headers: { "accept-language": "de" } });
    expect(textOf(await german.text())).toContain("Passkey hinzugefügt");
  });

  it("is read page by page, also past events that are not shown", async () => {
    for (let index = 0; index < 30; index += 1)
      await record("sign-in.failed", { sub: "alice" }, day("2026-03-01") + index);
    await AUDIT_DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
       INSERT INTO audit_events (position, shard, seq, at_ms, type, payload, previous, hash, chain)
         SELECT 10000 + i, 'other', i, ?1 + i, 'token.issued', '{"sub":"alice"}', x'00', x'00', x'00' FROM n`,
    )
      .bind(day("2026-04-01"))
      .run();
    await signIn();
    const counts: number[] = [];
    for (let path: string | undefined = "/account/activity"; path !== undefined; ) {
      const html: string = await (await browser.get(path)).text();
      counts.push(html.match(/A sign-in failed/g)?.length ?? 0);
      path = /href="([^"]+)" id="older"/.exec(html)?.[1];
    }
    expect(counts).toEqual([0, 6, 6, 6, 6, 6]);
    expect((await browser.get("/account/activity?before=nonsense")).status).toBe(200);
  });
});

describe("POST /account/data", () => {
  it("sends everything about the person and nothing of others, records it and tells them", async () => {
    const mailed = new MailedCodes();
    browser.restart(mailed.env);
    await record("user.update", { sub: "alice", actor: "root" }, day("2026-03-03"));
    await signIn();
    const response = await browser.submit("/account/data", {});
    expect([response.status, response.headers.get("content-disposition")]).toEqual([
      200,
      'attachment; filename="account.json"',
    ]);
    const text = await response.text();
    const {
      sub,
      data,
      events: all,
    } = JSON.parse(text) as { sub: string; data: Record<string, unknown[]>; events: unknown[] };
    expect([sub, data["users"]?.length, all.length]).toEqual(["alice", 1, 1]);
    expect(text).not.toMatch(/root|bob|scrypt/);
    expect(mailed.notices.map(({ kind }) => kind)).toEqual(["data-downloaded"]);
    expect(await DB.prepare("SELECT sub FROM admin_events WHERE action = 'account.exported'").first("sub")).toBe(
      "alice",
    );
  });

  it("needs a recent sign-in", async () => {
    await signIn();
    const html = await (await browser.get("/account/data")).text();
    vi.useFakeTimers({ now: Date.now() + 11 * 60_000, toFake: ["Date"] });
    try {
      expect(stepOf(locationOf(await browser.get("/account/data")))).toBe("sign-in");
      const posted = await browser.post("/account/data", { form_token: formTokenOf(html) });
      expect(stepOf(locationOf(posted))).toBe("sign-in");
    } finally {
      vi.useRealTimers();
    }
  });
});
