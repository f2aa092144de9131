import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import type { Finding } from "../../packages/edge-op/src/console/findings.ts";
import { refusalReasons } from "../../packages/protocol/src/oauth/refusal-reasons.ts";
import { CommandLine } from "./fixtures/command-line.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { type KeyedClient, ProviderFixtures, type TestClient } from "./fixtures/provider-fixtures.ts";

/** `edge-op tokens`, `edge-op audit` and `edge-op why`: what they say about tokens and requests that the provider refused. */
const own = new CommandLine();
const lines: string[] = [];
let provider: LocalProvider;
let fixtures: ProviderFixtures;
let asserter: KeyedClient;
let resourceServer: TestClient;

beforeAll(async () => {
  provider = await startLocalProvider({ shape: inject("shape"), onLog: ({ message }) => lines.push(message) });
  fixtures = new ProviderFixtures(provider);
  asserter = await fixtures.asserter();
  resourceServer = await fixtures.resourceServer();
  await own.login(provider.issuer, provider.admin);
});
afterAll(async () => {
  await provider.stop();
  own.remove();
});

async function findingsOf(token: string): Promise<Record<string, Finding["result"]>> {
  const { json } = await own.run(["tokens", "explain", "-", "--json"], { input: token });
  return Object.fromEntries((json["findings"] as Finding[]).map(({ check, result }) => [check, result]));
}

/** Events reach the log some seconds later. */
const recorded = { timeout: 30_000, interval: 300 };

describe("tokens introspect", () => {
  test("as the resource server: 0 and the claims, and 1 once it is revoked", async () => {
    const token = await fixtures.userToken(asserter, await fixtures.user());
    const file = own.file("token.txt", `${token}\n`);
    const words = [
      "tokens",
      "introspect",
      `@${file}`,
      "--client-id",
      resourceServer.client_id,
      "--client-secret",
      resourceServer.client_secret,
    ];
    expect((await own.require(...words, "--json")).json).toMatchObject({ active: true, client_id: asserter.client_id });
    expect((await own.require(...words)).output).toContain("active");
    await own.require("tokens", "revoke", "--token", `@${file}`);
    const after = await own.run([...words, "--json"]);
    expect([after.code, after.json]).toEqual([1, { active: false }]);
  });

  test("a wrong secret is 3, an empty token 2", async () => {
    const words = ["tokens", "introspect", "any", "--client-id", resourceServer.client_id, "--client-secret", "wrong"];
    expect((await own.run(words)).code).toBe(3);
    expect((await own.run(["tokens", "introspect", "-"])).code).toBe(2);
  });
});

describe("tokens explain", () => {
  test("a live token of another client: nothing is wrong with it but who asks", async () => {
    const findings = await findingsOf(await fixtures.userToken(asserter, await fixtures.user()));
    expect(findings).toMatchObject({
      kind: "right",
      issuer: "right",
      signature: "right",
      time: "right",
      client: "right",
      user: "right",
      sight: "unknown",
    });
  });

  test.each<[string, string, (sub: string, token: string) => Promise<unknown>]>([
    ["a revoked token", "revocation", (_, token) => own.require("tokens", "revoke", "--token", token)],
    ["a person whose grants were ended", "revocation", (sub) => own.require("tokens", "revoke", "--sub", sub)],
    ["a suspended person", "user", (sub) => own.require("users", "update", sub, "--status", "suspended")],
  ])(
    "%s",
    async (_, check, end) => {
      const sub = await fixtures.user();
      const token = await fixtures.userToken(asserter, sub);
      await end(sub, token);
      await vi.waitFor(async () => expect((await findingsOf(token))[check]).toBe("wrong"), recorded);
    },
    60_000,
  );

  test("a disabled client", async () => {
    const client = await fixtures.client();
    const token = await fixtures.clientToken(client);
    await own.require("clients", "update", client.client_id, "--status", "disabled");
    expect(await findingsOf(token)).toMatchObject({ client: "wrong", user: "right" });
  });

  test.each([
    ["no token", "nonsense", "form"],
    ["a token with a changed signature", "signature", "signature"],
    ["an ID token", "id", "kind"],
  ])("%s", async (_, what, check) => {
    const token = await fixtures.userToken(asserter, await fixtures.user());
    const changed = `${token.slice(0, -4)}${token.endsWith("AAAA") ? "BBBB" : "AAAA"}`;
    const idToken = [{ typ: "JWT", alg: "none" }, { iss: provider.issuer, nonce: "n", exp: 4e9 }, {}]
      .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
      .join(".");
    const shown = { nonsense: "nonsense", signature: changed, id: idToken }[what]!;
    expect((await findingsOf(shown))[check]).toBe("wrong");
  });
});

describe("audit", () => {
  test("search, tail, export and verify have the events of a change", async () => {
    await own.require("roles", "set", "audited", "--permissions", "documents:read");
    const words = ["audit", "search", "--type", "role.*", "--json"];
    await vi.waitFor(async () => expect((await own.require(...words)).output).toContain("audited"), recorded);
    expect((await own.require("audit", "search", "--type", "role.*")).output).toContain("role.update");
    const tail = await own.require("audit", "tail", "--type", "role.*", "--from", "0", "--for", "0", "--json");
    expect(
      tail.output
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { type: string }).type),
    ).toContain("role.update");
    const out = join(own.folder, "events.ndjson");
    await own.require("audit", "export", "--out", out);
    expect(statSync(out).mode & 0o777).toBe(0o600);
    const exported = readFileSync(out, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { position: number; time: string });
    const places = exported.map(({ time, position }) => `${time} ${String(position).padStart(9, "0")}`);
    expect(places).toEqual([...new Set(places)].toSorted().toReversed());
    const verified = (await own.require("audit", "verify", "--json")).json;
    expect(verified).toMatchObject({ valid: true, from: 1 });
    const { to, chain } = verified as { to: number; chain: string };
    await own.require("audit", "verify", "--to", String(to), "--expect", chain);
    expect((await own.run(["audit", "verify", "--to", String(to), "--expect", "0".repeat(64)])).code).toBe(1);
    expect((await own.run(["audit", "verify", "--expect", chain])).code).toBe(2);
  }, 60_000);

  test("tail prints an event once", async () => {
    const running = own.require("audit", "tail", "--type", "role.*", "--from", "0", "--for", "5", "--json");
    await sleep(500);
    const positions = (await running).output
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { position: number }).position);
    expect(positions).toEqual([...new Set(positions)]);
  }, 20_000);
});

describe("why", () => {
  /** A request that the provider refuses, by the header of its response. */
  async function refuse(): Promise<string> {
    const body = new URLSearchParams({ grant_type: "client_credentials" });
    const headers = { authorization: `Basic ${btoa(`${resourceServer.client_id}:wrong`)}` };
    const response = await fetch(`${provider.origin}/token`, { method: "POST", body, headers });
    return response.headers.get("request-id")!;
  }

  const wraps: readonly (readonly [string, (message: string) => string])[] = [
    ["lines of the log", (message) => message],
    [
      "wrangler tail --format json",
      (message) => JSON.stringify({ outcome: "ok", logs: [{ message: [message], level: "log" }] }),
    ],
    ["wrangler tail", (message) => `  (log) ${message}`],
    ["an export", (message) => JSON.stringify({ source: JSON.parse(message) as unknown })],
  ];

  test.each(wraps)("from %s: code, reason, meaning, detail and what to change", async (_, wrap) => {
    const id = await refuse();
    const message = await vi.waitUntil(
      () => lines.find((line) => line.includes(id) && line.includes('"refused"')),
      recorded,
    );
    const input = ["not JSON {", wrap(message!), "{}"].join("\n");
    const { json } = await own.run(["why", id, "--log", "-", "--json"], { input });
    expect(json).toMatchObject({
      request_id: id,
      refusal: {
        error: "invalid_client",
        reason: "client-secret-wrong",
        explanation: refusalReasons["client-secret-wrong"],
        remedy: expect.any(String) as string,
      },
    });
    const people = await own.run(["why", id, "--log", "-"], { input });
    expect(people.output).toContain("client-secret-wrong");
  });

  test("a request that changed something: its events", async () => {
    await own.require("roles", "set", "asked-why", "--permissions", "documents:read");
    const words = ["audit", "search", "--type", "role.update", "--limit", "1", "--json"];
    const found = await vi.waitUntil(async () => {
      const { json } = await own.require(...words);
      return (json["events"] as { request_id: string; detail: object }[]).find((event) =>
        JSON.stringify(event).includes("asked-why"),
      );
    }, recorded);
    const { output } = await own.require("why", found!.request_id, "--json");
    expect(JSON.parse(output)).toMatchObject({ events: [{ type: "role.update", request_id: found!.request_id }] });
    expect((await own.require("why", found!.request_id)).output).toContain("role.update");
  }, 60_000);

  test("each reason by its name, without a sign-in", async () => {
    const nobody = new CommandLine();
    for (const reason of Object.keys(refusalReasons))
      expect((await nobody.require("why", reason)).output).toContain(reason);
    nobody.remove();
  });

  test("a request that was just refused: the rule, what was sent and is registered, and what to change", async () => {
    const id = await refuse();
    const { refusal } = (await own.require("why", id, "--json")).json as { refusal: Record<string, unknown> };
    expect(refusal).toMatchObject({
      request_id: id,
      client_id: resourceServer.client_id,
      reason: "client-secret-wrong",
      explanation: refusalReasons["client-secret-wrong"],
    });
    expect(refusal["parameters"]).toContainEqual({
      name: "token_endpoint_auth_method",
      sent: ["client_secret_basic"],
      registered: ["client_secret_basic"],
    });
    const { output } = await own.require("why", id);
    for (const part of [id, "client-secret-wrong", "remedy", "token_endpoint_auth_method.registered"])
      expect(output).toContain(part);
  }, 30_000);

  test("the last refusals of a client, newest first", async () => {
    const ids = [await refuse(), await refuse()];
    const words = ["why", "--client", resourceServer.client_id, "--limit", "2", "--json"];
    await vi.waitFor(async () => {
      const { refusals } = (await own.require(...words)).json as { refusals: { request_id: string }[] };
      expect(refusals.map(({ request_id: id }) => id)).toEqual(ids.toReversed());
    }, recorded);
    const people = await own.require("why", "--client", resourceServer.client_id, "--limit", "2");
    expect(people.output.match(/^reason +client-secret-wrong$/gm)).toHaveLength(2);
    expect((await own.require("why", "--client", "nobody")).errors).toContain("nobody");
    expect((await own.run(["why"])).code).toBe(2);
    expect((await own.run(["why", ids[0]!, "--client", "x"])).code).toBe(2);
  }, 60_000);

  test("what nobody recorded is 6, and says where the reason is", async () => {
    const { code, errors } = await own.run(["why", crypto.randomUUID()]);
    expect([code, errors.includes("npm run -s deploy -- tail")]).toEqual([6, true]);
    expect((await own.run(["why", "unknown", "--log", "-"], { input: "{}" })).code).toBe(6);
  });
});
