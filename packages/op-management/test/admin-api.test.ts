import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { exampleBodies } from "../src/admin/examples.ts";
import { adminRouteTable } from "../src/admin-routes.ts";
import { AdminCaller, dumpDatabase, everyScope, issuer, runsLong } from "./fixtures/admin-fixtures.ts";

let admin: AdminCaller;
beforeEach(() => {
  admin = new AdminCaller();
});

const routes = adminRouteTable.map(({ method, path, scope }) => ({ method, path, scope }));
/** The challenges of both schemes, without an error code. */
const challenges = 'Bearer realm="oauth", DPoP algs="ES256 EdDSA PS256 RS256"';
/** Random bodies for each route. */
const jsonRuns = runsLong ? 15 : 4;
const concrete = (path: string): string => path.replace(/\{\w+\}/g, "nothing");

describe("RFC 6750: authorization of callers", () => {
  it("RFC 6750 §3: each route without a token is challenged", async () => {
    for (const { method, path } of routes) {
      const response = await admin.call(method, concrete(path), { token: null });
      const challenge = response.headers.get("www-authenticate");
      expect([response.status, challenge], `${method} ${path}`).toEqual([401, challenges]);
    }
  });

  it("RFC 6750 §3.1: each route needs its scope, and a token with every other one is refused", async () => {
    const tokens = new Map<string, string>();
    for (const lacked of everyScope) {
      tokens.set(lacked, await admin.issueToken({ scope: everyScope.filter((held) => held !== lacked) }));
    }
    for (const { method, path, scope } of routes) {
      const body = method === "GET" ? undefined : {};
      const response = await admin.call(method, concrete(path), { token: tokens.get(scope)!, body });
      const challenge = response.headers.get("www-authenticate");
      const expected = `Bearer error="insufficient_scope", scope="${scope}"`;
      expect([response.status, challenge], `${method} ${path}`).toEqual([403, expected]);
    }
  });

  it("RFC 9068 §4: a token for another audience is refused", async () => {
    const token = await admin.issueToken({ audiences: [issuer, "https://api.example.com"] });
    const response = await admin.call("GET", "/clients", { token });
    expect([response.status, response.body.error]).toEqual([401, "invalid_token"]);
  });

  it("RFC 6750 §3.1: a token with a changed signature is refused", async () => {
    const token = await admin.issueToken();
    const last = token.at(-2) === "A" ? "B" : "A";
    const response = await admin.call("GET", "/clients", { token: token.slice(0, -2) + last + token.slice(-1) });
    expect([response.status, response.body.error]).toEqual([401, "invalid_token"]);
  });

  it("RFC 9700 §4.3.2: a token in the URL is refused", async () => {
    const token = await admin.issueToken();
    const response = await admin.call("GET", `/clients?access_token=${token}`, { token: null });
    expect(response.status).toBe(400);
  });

  it("RFC 7009 §2: a revoked admin token is refused", async () => {
    const token = await admin.issueToken();
    expect((await admin.call("POST", "/revocations", { body: { token } })).status).toBe(200);
    expect((await admin.call("GET", "/clients", { token })).status).toBe(401);
  });
});

describe("RFC 9700 §2.3: a caller cannot grant scopes that it lacks", () => {
  const roleOf = (permission: string) => ({ body: { permissions: [permission] } });

  it("RFC 9700 §2.3: a person also needs the scope as a permission", async () => {
    await admin.call("POST", "/users", { body: { sub: "alice", username: "alice", roles: ["support"] } });
    const token = await admin.issueToken({ user: "alice" });
    expect((await admin.call("GET", "/users", { token })).status).toBe(403);
    await admin.call("PUT", "/roles/support", { body: { permissions: ["admin:users"], keep_holders: true } });
    expect((await admin.call("GET", "/users", { token })).status).toBe(200);
    expect((await admin.call("GET", "/clients", { token })).status).toBe(403);
  });

  it("RFC 9700 §2.3: admin:users alone grants no other admin scope, by role, group, user or password", async () => {
    await admin.call("PUT", "/roles/key-keeper", roleOf("admin:keys"));
    await admin.call("PUT", "/groups/security", { body: { roles: ["key-keeper"] } });
    await admin.call("POST", "/users", { body: { sub: "keeper", username: "keeper", groups: ["security"] } });
    await admin.call("POST", "/users", { body: { sub: "mallory", username: "mallory" } });
    const token = await admin.issueToken({ scope: ["admin:users"] });
    const before = await dumpDatabase();
    const responses = [
      await admin.call("PUT", "/roles/mine", { token, ...roleOf("admin:keys") }),
      await admin.call("PUT", "/roles/key-keeper", { token, ...roleOf("other") }),
      await admin.call("DELETE", "/roles/key-keeper", { token }),
      await admin.call("PUT", "/groups/mine", { token, body: { roles: ["key-keeper"] } }),
      await admin.call("PUT", "/groups/security", { token, body: { roles: [] } }),
      await admin.call("PATCH", "/users/mallory", { token, body: { roles: ["key-keeper"] } }),
      await admin.call("PATCH", "/users/mallory", { token, body: { groups: ["security"] } }),
      await admin.call("POST", "/users", { token, body: { username: "eve", groups: ["security"] } }),
      await admin.call("PATCH", "/users/keeper", { token, body: { password: "mine from now on" } }),
      await admin.call("DELETE", "/users/keeper", { token }),
    ];
    expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(403));
    expect(responses[0]?.headers.get("www-authenticate")).toBe('Bearer error="insufficient_scope", scope="admin:keys"');
    expect(await dumpDatabase()).toBe(before);
    expect((await admin.call("PUT", "/roles/mine", { token, ...roleOf("admin:users") })).status).toBe(200);
  });
});

describe("RFC 9110: methods and paths", () => {
  it("RFC 9110 §15.5.6: each path names its methods", async () => {
    for (const path of new Set(routes.map((route) => route.path))) {
      const methods = routes.filter((route) => route.path === path).map(({ method }) => method);
      const response = await admin.call("OPTIONS", concrete(path), { token: null });
      // §9.3.2: HEAD is supported wherever GET is.
      const allowed = methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
      expect([response.status, response.headers.get("allow")], path).toEqual([405, allowed.join(", ")]);
      expect(response.headers.get("cache-control"), path).toBe("no-store");
    }
  });

  it("RFC 9110 §15.5.5: an unknown path is 404 in JSON", async () => {
    const response = await admin.call("GET", "/nothing/here");
    expect([response.status, response.body.error]).toEqual([404, "not_found"]);
  });

  it("RFC 9110 §9.3.2: HEAD is GET without its body", async () => {
    const response = await admin.call("HEAD", "/clients");
    expect([response.status, response.body]).toEqual([200, undefined]);
  });
});

describe("bodies", () => {
  it.each([
    ["a form", { text: "a=b", headers: { "content-type": "application/x-www-form-urlencoded" } }, 400],
    ["text that is not JSON", { text: "{" }, 400],
    ["bytes that are not UTF-8", { text: '"\ud800"' }, 400],
    ["no body", {}, 400],
    ["a body over 256 KiB", { text: `{"client_name":"${"x".repeat(256 * 1024)}"}` }, 413],
    ["a million brackets", { text: "[".repeat(200_000) }, 400],
  ])("admin API: %s is refused", async (_claim, options, status) => {
    expect((await admin.call("POST", "/clients", options)).status).toBe(status);
  });
});

describe("OpenAPI 3.1", () => {
  it("OpenAPI 3.1.1 §4.8.8: exactly the router's routes are described, readable without a token", async () => {
    const { status, body } = await admin.call("GET", "/openapi.json", { token: null });
    expect(status).toBe(200);
    expect(body.openapi).toBe("3.1.1");
    const described = Object.entries<Record<string, { security: unknown }>>(body.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { security }]) => `${method.toUpperCase()} ${path} ${JSON.stringify(security)}`,
      ),
    );
    const routed = routes.map(({ method, path, scope }) => `${method} ${path} [{"admin":["${scope}"]}]`);
    expect(described.toSorted()).toEqual(routed.toSorted());
  });

  it("OpenAPI 3.1.1 §4.8.30: every reference leads to a schema, and every operation has its own id", async () => {
    const { body } = await admin.call("GET", "/openapi.json", { token: null });
    const text = JSON.stringify(body);
    const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference!);
    expect(references.length).toBeGreaterThan(20);
    for (const reference of new Set(references)) {
      expect(Object.keys(body.components.schemas)).toContain(reference.replace("#/components/schemas/", ""));
    }
    // Regular expressions of Python have no character properties.
    expect(text).not.toMatch(/"pattern":"[^"]*\\\\p\{/);
    const ids = [...text.matchAll(/"operationId":"(\w+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(routes.length);
  });

  it("OpenAPI 3.1.1 §4.8.10: every operation has a summary of one line, a description, a tag and examples of what is sent", async () => {
    const { body } = await admin.call("GET", "/openapi.json", { token: null });
    for (const { method, path, scope, operationId, body: schema } of adminRouteTable) {
      const described = body.paths[path][method.toLowerCase()];
      expect(described.summary.length, operationId).toBeLessThan(160);
      expect(described.description, operationId).toMatch(new RegExp(`\\. It needs the scope \`${scope}\`\\.$`));
      expect(described.tags, operationId).toEqual([path.split("/")[1]]);
      for (const parameter of described.parameters ?? []) {
        if (parameter.in === "path") expect(parameter.example, `${operationId} ${parameter.name}`).toMatch(/./);
        else expect(parameter.description, `${operationId} ${parameter.name}`).toMatch(/./);
      }
      if (schema === undefined) continue;
      const [{ example }] = Object.values<{ example: unknown }>(described.requestBody.content) as [
        { example: unknown },
      ];
      const { error } = schema.safeParse(example);
      expect([example === undefined, error?.issues], operationId).toEqual([false, undefined]);
    }
    expect(Object.keys(exampleBodies).toSorted()).toEqual(
      adminRouteTable
        .flatMap(({ operationId, body: schema }) => (schema === undefined ? [] : [operationId]))
        .toSorted(),
    );
  });

  it("OpenAPI 3.1.1 §4.8.14: the response of each operation has an example that is one", async () => {
    const { body } = await admin.call("GET", "/openapi.json", { token: null });
    let examples = 0;
    for (const { operationId, path, method, response } of adminRouteTable) {
      if (response.schema === undefined) continue;
      const { content } = body.paths[path][method.toLowerCase()].responses[response.status];
      const { example } = content["application/json"];
      // Members with defaults are present in a response.
      expect(response.schema.parse(example), operationId).toEqual(example);
      examples += 1;
    }
    expect(examples).toBeGreaterThan(40);
  });

  it("OpenAPI 3.1.1 §4.8.7: no schema has the name that generators give to a member of another one", async () => {
    const { body } = await admin.call("GET", "/openapi.json", { token: null });
    const schemas: [string, { properties?: object }][] = Object.entries(body.components.schemas);
    const title = (member: string) => member.replace(/(?:^|_)(.)/g, (_, first: string) => first.toUpperCase());
    const named = schemas.flatMap(([name, { properties = {} }]) =>
      Object.keys(properties).map((member) => `${name}${title(member)}`),
    );
    expect(named.length).toBeGreaterThan(200);
    expect(named.filter((name) => schemas.some(([each]) => each === name))).toEqual([]);
  });

  it("OpenAPI 3.1.1 §4.8.7: a schema that a body and a response share is described for both", async () => {
    const { body } = await admin.call("GET", "/openapi.json", { token: null });
    const { IssuerCreate, Issuer, IssuerRule, IssuerRuleInput } = body.components.schemas;
    expect(IssuerCreate.properties.rules.items).toEqual({ $ref: "#/components/schemas/IssuerRuleInput" });
    expect(Issuer.properties.rules.items).toEqual({ $ref: "#/components/schemas/IssuerRule" });
    expect(IssuerRuleInput.required).not.toContain("status");
    expect(IssuerRule.required).toContain("status");
  });

  it("OpenAPI 3.1.1 §4.8.24: the described schemas are those that validate", async () => {
    const { body } = await admin.call("GET", "/openapi.json", { token: null });
    const { ClientCreate, ClientPatch, Client } = body.components.schemas;
    expect(ClientCreate.additionalProperties).toBe(false);
    expect(ClientCreate.properties.access_token_lifetime).toEqual({
      description: "Seconds.",
      maximum: 86_400,
      minimum: 1,
      type: "integer",
    });
    expect(ClientPatch.required ?? []).toEqual([]);
    expect(ClientPatch.properties.client_name.anyOf).toContainEqual({ type: "null" });
    expect(Client.required).toEqual(expect.arrayContaining(["client_id", "status", "grant_types"]));
    // A client without scopes has no member for them.
    expect(Client.required).not.toContain("scope");
    expect(Client.properties).not.toHaveProperty("client_secret");
  });
});

describe("no client request causes a 5xx", () => {
  const names = [
    "client_id",
    "client_name",
    "redirect_uris",
    "jwks",
    "keys",
    "kty",
    "username",
    "claims",
    "roles",
    "token_exchange",
    "store",
    "regions",
    "jti",
    "token",
    "alg",
    "overlap_seconds",
    "__proto__",
    "constructor",
  ];
  const word = fc.oneof(fc.constantFrom(...names), fc.string({ unit: "binary", maxLength: 12 }));
  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      word,
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(word, tie("value"), { maxKeys: 4 }),
    ),
  })).value;

  it.each(routes)("any JSON at $method $path is a refusal that changes nothing", async ({ method, path }) => {
    await admin.call("POST", "/clients", { body: { client_id: "known", redirect_uris: ["https://app.example/"] } });
    const before = await dumpDatabase();
    await fc.assert(
      fc.asyncProperty(json, word, async (body, id) => {
        const target = path.replace(/\{\w+\}/g, () => encodeURIComponent(id.toWellFormed()) || "x");
        const response = await admin.call(method, target, method === "GET" ? {} : { body });
        expect(response.status).toBeLessThan(500);
        if (response.status >= 400) expect(await dumpDatabase()).toBe(before);
      }),
      { numRuns: jsonRuns },
    );
  });
});
