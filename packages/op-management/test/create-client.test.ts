import { env } from "cloudflare:workers";
import { matchesClientSecret } from "@edge-op/shared/callers/client-secret";
import { loadClient } from "@edge-op/shared/clients/stored-clients";
import type { ControlPlaneBindings } from "@edge-op/shared/control/commit-control-change";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import type { MailBindings } from "@edge-op/shared/mail/tell-person";
import type { RetirementBindings } from "@edge-op/shared/users/retired-subs";
import { describe, expect, it } from "vitest";
import type { SharedEnv } from "../../shared/test/fixtures/request-fixtures.ts";
import type { Actor } from "../src/admin/actor.ts";
import { type ClientRegistration, createClient } from "../src/clients/create-client.ts";

type Env = SharedEnv & ControlPlaneBindings & MailBindings & RetirementBindings;
const bindings = env as unknown as Env;

/** An actor that is not an access token, as a registration endpoint or a command has one. */
const registrar: Actor = { clientId: "registrar", sub: "registrar", scope: [] };

function create(registration: Partial<ClientRegistration>, actor = registrar) {
  const context = createRequestContext(new Request("https://op.example.com/"), bindings, { waitUntil: () => {} });
  return createClient({ context, actor }, { clientId: undefined, status: "active", document: {}, ...registration });
}

async function countClients(): Promise<number> {
  const row = await bindings.DB.prepare("SELECT count(*) AS count FROM clients").first<{ count: number }>();
  return row!.count;
}

const service = { grant_types: ["client_credentials"], scope: "reports" };

describe("createClient, for an actor without an access token", () => {
  it("RFC 7591 §3.2.1: stores defaults, issues a secret that authenticates, and records the actor", async () => {
    const { client, secret } = await create({ document: service });
    expect(client.metadata).toMatchObject({ token_endpoint_auth_method: "client_secret_basic", response_types: [] });
    const stored = await loadClient(bindings.DB, client.clientId);
    expect(stored?.metadata).toEqual(client.metadata);
    expect(await matchesClientSecret(bindings, secret!, stored, Date.now())).toBe(true);
    const event = await bindings.DB.prepare("SELECT action, target, client_id, sub FROM admin_events").first();
    expect(event).toEqual({
      action: "client.create",
      target: client.clientId,
      client_id: "registrar",
      sub: "registrar",
    });
  });

  it("a public client gets no secret", async () => {
    const { secret } = await create({
      document: { token_endpoint_auth_method: "none", redirect_uris: ["https://app.example/cb"] },
    });
    expect(secret).toBeUndefined();
  });

  it("a chosen id is refused with 409 if a client or user has it", async () => {
    await create({ clientId: "chosen", document: service });
    await bindings.DB.prepare(
      "INSERT INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES ('alice', 'alice', 'alice', 0, 0)",
    ).run();
    const before = await countClients();
    await expect(create({ clientId: "chosen", document: service })).rejects.toMatchObject({ code: "conflict" });
    await expect(create({ clientId: "alice", document: service })).rejects.toMatchObject({ code: "conflict" });
    expect(await countClients()).toBe(before);
  });

  it("ADR 18: an actor without admin scopes cannot create a client that has them", async () => {
    const document = { ...service, scope: "admin:clients" };
    await expect(create({ document })).rejects.toMatchObject({ code: "insufficient_scope" });
    expect(await countClients()).toBe(0);
    const { client } = await create({ document }, { ...registrar, scope: ["admin:clients"] });
    expect(client.metadata.scope).toBe("admin:clients");
  });

  it("RFC 7591 §3.2.2: a refusal names every fault and stores nothing", async () => {
    const document = { grant_types: ["password"], redirect_uris: ["https://app.example/#f"], jwks_uri: "ftp://a" };
    await expect(create({ document })).rejects.toMatchObject({
      code: "invalid_client_metadata",
      fields: [{ path: "grant_types[0]" }, { path: "redirect_uris[0]" }, { path: "jwks_uri" }],
    });
    expect(await countClients()).toBe(0);
  });
});
