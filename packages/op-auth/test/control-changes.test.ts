import { createExecutionContext } from "cloudflare:test";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { waitBriefly } from "../../../test/fixtures/call.ts";
import { createIsolate } from "../src/runtime/isolate.ts";
import {
  authEnv,
  codeClient,
  countRows,
  formTokenOf,
  locationOf,
  origin,
  password,
  redirectUri,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

/**
 * Control changes that people can cause. A control change stops every shard and isolate for a moment, so only a change of the password commits one,
 * and attempts at a password have a budget. `test/topology/control-changes.test.ts` lists every module that commits one.
 */
const documentId = "https://agent.example.com/client.json";
const document = { client_id: documentId, client_name: "Agent", redirect_uris: [redirectUri] };
const bindings = { ...authEnv, CLIENT_DOCUMENTS: "allow" };
const day = 86_400_000;

const { fixtures, browser } = useDeployment({}, { env: bindings });

beforeEach(async () => {
  vi.stubGlobal("fetch", async () => Response.json(document));
});

async function controlChanges(): Promise<number> {
  // ControlPlane deletes the change that the migration adds, which has no time.
  const counted = authEnv.DB.prepare("SELECT count(*) AS n FROM control_changes WHERE at_ms > 0");
  return (await counted.first<number>("n")) ?? -1;
}

async function seedRegistration(clientId: string, createdAtMs = Date.now()): Promise<void> {
  const metadata = { ...codeClient, token_endpoint_auth_method: "none", audiences: [] };
  await authEnv.DB.prepare(
    `INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms, origin)
       VALUES (?1, ?2, ?3, ?3, 'registration')`,
  )
    .bind(clientId, JSON.stringify(metadata), createdAtMs)
    .run();
}

async function postAccount(path: string, fields: Record<string, string>): Promise<Response> {
  const form_token = formTokenOf(await (await browser.get("/account/security")).text());
  return browser.post(path, { form_token, ...fields });
}

describe("control changes by a person", () => {
  it.each<[string, number, () => Promise<unknown>]>([
    ["a sign-in and a consent", 0, () => browser.signInWhole()],
    ["the first consent to a metadata document", 0, () => browser.signInWhole({ client_id: documentId })],
    [
      "the first consent to a client that registered itself",
      0,
      async () => {
        await seedRegistration("registered");
        await browser.signInWhole({ client_id: "registered" });
      },
    ],
    [
      "a withdrawn consent",
      0,
      async () => {
        await browser.signInWhole({ scope: "openid offline_access", prompt: "consent" });
        await postAccount("/account/consents", { client_id: "app" });
      },
    ],
    [
      "passkeys renamed and removed",
      0,
      async () => {
        const { id: credential_id } = await SoftwarePasskey.register("alice");
        await browser.signInWhole();
        await postAccount("/account/passkeys/rename", { credential_id, name: "Blue" });
        await postAccount("/account/passkeys/remove", { credential_id });
      },
    ],
    [
      "sessions ended elsewhere, and a logout",
      0,
      async () => {
        await fixtures.browser().signInWhole();
        await browser.signInWhole();
        await postAccount("/account/sessions/end-others", {});
        const { form_token } = { form_token: formTokenOf(await (await browser.get("/logout")).text()) };
        await browser.post("/logout/confirm", { form_token, decision: "logout" });
      },
    ],
    [
      "a change of the password",
      1,
      async () => {
        await browser.signInWhole();
        const chosen = { new: "a new and longer password", repeat: "a new and longer password" };
        await postAccount("/account/password", { current: password, ...chosen });
      },
    ],
  ])("%s: %i", async (_, expected, act) => {
    const before = await controlChanges();
    await act();
    expect((await controlChanges()) - before).toBe(expected);
  });

  it("changes of the password count as attempts at it", { timeout: 90_000 }, async () => {
    await browser.signInWhole();
    const before = await controlChanges();
    let secret = password;
    const statuses: number[] = [];
    for (let count = 0; count < 12 && !statuses.includes(429); count += 1) {
      const chosen = `the password number ${count}`;
      const page = await browser.get("/account/password");
      const form_token = formTokenOf(await page.text());
      const fields = { form_token, current: secret, new: chosen, repeat: chosen };
      const { status } = await browser.post("/account/password", fields);
      statuses.push(status);
      if (status === 303) secret = chosen;
    }
    expect(statuses).toContain(429);
    expect((await controlChanges()) - before).toBe(statuses.filter((status) => status === 303).length);
  });
});

describe("ADR 47: a first consent takes effect without a control change", () => {
  const find = async (isolate: ReturnType<typeof createIsolate>, clientId: string) => {
    const execution = createExecutionContext();
    const context = createRequestContext(new Request(origin), bindings, execution);
    await isolate.revocation.confirmControl(context);
    const client = await isolate.clients.find(context, clientId);
    await waitBriefly(execution);
    return client;
  };

  it("an isolate that looked up the document's client earlier finds it at once", async () => {
    const other = createIsolate();
    expect(await find(other, documentId)).toBeUndefined();
    await browser.signInWhole({ client_id: documentId });
    expect(await find(other, documentId)).toMatchObject({ origin: "document", status: "active" });
    const events = authEnv.DB.prepare("SELECT count(*) AS n FROM admin_events WHERE action = 'client.use'");
    await browser.signInWhole({ client_id: documentId, prompt: "consent" });
    expect(await events.first<number>("n")).toBe(1);
  });

  it("an isolate that caches the client as unused keeps it beyond the lifetime of unused ones; an unused client expires", async () => {
    const createdAtMs = Date.now() - day + 60_000;
    for (const id of ["registered", "unused"]) await seedRegistration(id, createdAtMs);
    const other = createIsolate();
    for (const id of ["registered", "unused"]) expect(await find(other, id)).toBeDefined();
    await browser.signInWhole({ client_id: "registered" });
    const used = await authEnv.DB.prepare("SELECT used_at_ms FROM clients WHERE client_id = 'registered'").first();
    expect(used).toEqual({ used_at_ms: expect.any(Number) });
    vi.useFakeTimers({ now: Date.now() + 120_000, toFake: ["Date"] });
    expect(await find(other, "registered")).toBeDefined();
    vi.setSystemTime(createdAtMs + day + 4 * 3_600_000);
    // KV has its own clock and would have deleted them.
    await Promise.all(["registered", "unused"].map((id) => authEnv.CACHE.delete(`client:${id}`)));
    expect(await find(other, "registered")).toBeDefined();
    expect(await find(other, "unused")).toBeUndefined();
  });

  it("a registration that has expired, or was deleted meanwhile, cannot receive consent", async () => {
    await seedRegistration("ended", Date.now() - day + 60_000);
    await seedRegistration("deleted");
    for (const client_id of ["ended", "deleted"]) {
      const page = locationOf(await browser.authorize({ client_id }));
      const consent = stepOf(page) === "sign-in" ? locationOf(await browser.signIn(page)) : page;
      const html = await (await browser.get(consent)).text();
      if (client_id === "deleted") await authEnv.DB.prepare("DELETE FROM clients WHERE client_id = 'deleted'").run();
      vi.useFakeTimers({ now: Date.now() + 120_000, toFake: ["Date"] });
      const refused = await browser.post(consent, { form_token: formTokenOf(html), decision: "allow" });
      expect(refused.status).toBe(400);
      expect(await refused.text()).toContain("The application is unknown.");
      vi.useRealTimers();
    }
    expect(await countRows("consents")).toBe(0);
  });
});
