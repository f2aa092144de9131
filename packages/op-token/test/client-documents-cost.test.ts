import { countCalls } from "@edge-op/shared/http/count-calls";
import { afterEach, expect, it, vi } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { LoginFixtures, seedPeople, tokensOf } from "./fixtures/login-fixtures.ts";
import { errorOf, tokenEnv } from "./fixtures/token-fixtures.ts";

useAnnouncedSetUp();

/** A client with a metadata document at the token endpoint (ADR 47); only the outside network is replaced. */
const clientId = "https://agent.example.com/client.json";
const document = {
  client_id: clientId,
  client_name: "Agent",
  redirect_uris: ["https://app.example/cb"],
  grant_types: ["authorization_code", "refresh_token"],
};

afterEach(() => {
  vi.unstubAllGlobals();
});

async function seedDocumentClient(freshUntilMs: number): Promise<void> {
  const metadata = {
    ...document,
    token_endpoint_auth_method: "none",
    response_types: ["code"],
    scope: "openid offline_access",
    audiences: [],
  };
  await tokenEnv.DB.prepare(
    `INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms, origin, fresh_until_ms, used_at_ms)
       VALUES (?1, ?2, 0, 0, 'document', ?3, ?4)`,
  )
    .bind(clientId, JSON.stringify(metadata), freshUntilMs, Date.now())
    .run();
}

function network(response: () => Response) {
  const spy = vi.fn(async () => response());
  vi.stubGlobal("fetch", spy);
  return spy;
}

const bindings = { ...tokenEnv, CLIENT_DOCUMENTS: "ask" };
const granted = { clientId, scope: ["openid", "offline_access"] };
const asClient = { client_id: clientId };

it.each([
  ["strict", 1],
  ["direct", 2],
])(
  "warm, a refresh in %s mode costs what a registered client's does: %i object calls, 0 KV, 0 D1, 0 fetches",
  async (mode, object) => {
    await seedPeople();
    await seedDocumentClient(0);
    const spy = network(() => Response.json(document, { headers: { "cache-control": "max-age=3600" } }));
    const fixtures = new LoginFixtures({ ...bindings, REVOCATION_MODE: mode });
    const { bindings: usual } = fixtures;
    let tokens = await tokensOf(await fixtures.redeem(await fixtures.authorize(granted), undefined, asClient));
    for (let warmUp = 0; warmUp < 2; warmUp += 1) {
      tokens = await tokensOf(await fixtures.refresh(tokens.refresh_token, undefined, asClient));
    }
    expect(spy).toHaveBeenCalledTimes(1);
    const counts = { object: 0, kv: 0, d1: 0 };
    fixtures.bindings = countCalls(usual, counts);
    await tokensOf(await fixtures.refresh(tokens.refresh_token, undefined, asClient));
    expect(counts).toEqual({ object, kv: 0, d1: 0 });
    expect(spy).toHaveBeenCalledTimes(1);
  },
);

it("a fresh stored copy needs no fetch; a stale one is used for at most a day while the server fails", async () => {
  await seedPeople();
  await seedDocumentClient(Date.now() + 60_000);
  const spy = network(() => new Response("", { status: 500 }));
  const fixtures = new LoginFixtures(bindings);
  const tokens = await tokensOf(await fixtures.redeem(await fixtures.authorize(granted), undefined, asClient));
  expect(spy).not.toHaveBeenCalled();
  const setFresh = async (atMs: number) => {
    await tokenEnv.DB.prepare("UPDATE clients SET fresh_until_ms = ?1").bind(atMs).run();
    await tokenEnv.CACHE.delete(`client:${clientId}`);
  };
  await setFresh(Date.now() - 3_600_000);
  const refreshed = await new LoginFixtures(bindings).refresh(tokens.refresh_token, undefined, asClient);
  expect(refreshed.status).toBe(200);
  await setFresh(Date.now() - 86_400_001);
  const refused = await new LoginFixtures(bindings).refresh(tokens.refresh_token, undefined, asClient);
  expect(await errorOf(refused)).toBe("401 invalid_client");
});

it.each([
  ["a document that is gone", () => new Response("", { status: 404 })],
  [
    "another client's document",
    () => Response.json({ ...document, client_id: "https://agent.example.com/other.json" }),
  ],
])("%s ends the client", async (_, response) => {
  await seedPeople();
  await seedDocumentClient(0);
  network(response);
  const fixtures = new LoginFixtures(bindings);
  const code = await fixtures.authorize(granted);
  expect(await errorOf(await fixtures.redeem(code, undefined, asClient))).toBe("401 invalid_client");
});

it("ADR 47: a host that an administrator has recorded costs nothing warm; the record precedes the settings", async () => {
  await seedPeople();
  await seedDocumentClient(Date.now() + 60_000);
  const record = (host: string, policy: string) =>
    tokenEnv.DB.prepare("INSERT INTO document_hosts (host, policy, updated_at_ms) VALUES (?1, ?2, 0)")
      .bind(host, policy)
      .run();
  await record("*", "deny");
  await record("*.example.com", "allow");
  const fixtures = new LoginFixtures({
    ...tokenEnv,
    CLIENT_DOCUMENTS: "deny",
    CLIENT_DOCUMENT_HOSTS: "deny=*.example.com",
  });
  const { bindings: usual } = fixtures;
  let tokens = await tokensOf(await fixtures.redeem(await fixtures.authorize(granted), undefined, asClient));
  tokens = await tokensOf(await fixtures.refresh(tokens.refresh_token, undefined, asClient));
  const counts = { object: 0, kv: 0, d1: 0 };
  fixtures.bindings = countCalls(usual, counts);
  await tokensOf(await fixtures.refresh(tokens.refresh_token, undefined, asClient));
  expect(counts).toEqual({ object: 1, kv: 0, d1: 0 });
  await record("agent.example.com", "deny");
  await tokenEnv.CACHE.delete("document-hosts:*");
  const cold = new LoginFixtures({ ...tokenEnv, CLIENT_DOCUMENTS: "allow" });
  const code = await cold.authorize(granted);
  expect(await errorOf(await cold.redeem(code, undefined, asClient))).toBe("401 invalid_client");
});

it("a deployment that denies documents refuses a stored one, without a fetch", async () => {
  await seedPeople();
  await seedDocumentClient(Date.now() + 60_000);
  const spy = network(() => Response.json(document));
  for (const hosts of ["", "allow=other.example.com"]) {
    const fixtures = new LoginFixtures({ ...tokenEnv, CLIENT_DOCUMENTS: "deny", CLIENT_DOCUMENT_HOSTS: hosts });
    const code = await fixtures.authorize(granted);
    expect(await errorOf(await fixtures.redeem(code, undefined, asClient))).toBe("401 invalid_client");
  }
  const excepted = new LoginFixtures({ ...tokenEnv, CLIENT_DOCUMENT_HOSTS: "allow=*.example.com" });
  expect((await excepted.redeem(await excepted.authorize(granted), undefined, asClient)).status).toBe(200);
  expect(spy).not.toHaveBeenCalled();
});

it("RFC 9068 §5: a client whose document is at a resource's identifier gets no tokens if the resource's have the typ JWT", async () => {
  await seedPeople();
  await seedDocumentClient(Date.now() + 60_000);
  network(() => Response.json(document));
  const seedResource = async (typ: string) => {
    const metadata = JSON.stringify({ name: "Agent", clients: "any", scopes: [], access_token_typ: typ });
    await tokenEnv.DB.prepare(
      "INSERT OR REPLACE INTO resources (identifier, resource_id, metadata, created_at_ms, updated_at_ms) VALUES (?1, 'r', ?2, 0, 0)",
    )
      .bind(clientId, metadata)
      .run();
    await tokenEnv.CACHE.delete(`resource:${clientId}`);
  };
  await seedResource("JWT");
  const code = await new LoginFixtures(bindings).authorize(granted);
  const refused = await new LoginFixtures(bindings).redeem(code, undefined, asClient);
  expect(await errorOf(refused)).toBe("400 unauthorized_client");
  await seedResource("at+jwt");
  expect((await new LoginFixtures(bindings).redeem(code, undefined, asClient)).status).toBe(200);
});
