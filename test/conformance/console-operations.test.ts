import { timingSafeEqual } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LocalProvider, startLocalProvider } from "../../packages/edge-op/src/local-provider.ts";
import { Mailbox } from "../../packages/edge-op/src/mailbox.ts";
import { AdminApi, basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import type { OwnEnv } from "../../packages/op-console/src/api/console-call.ts";
import { consoleRoutes, createAppWith } from "../../packages/op-console/src/app.ts";
import { sessionCookie } from "../../packages/op-console/src/session/session.ts";
import { createRequestContext } from "../../packages/shared/src/http/request-context.ts";

/**
 * **Whatever the console does, the command line does by client credentials**, also while nobody can sign in. The console's own code runs here against
 * a provider without op-auth, with the token of the client `admin` in place of a person's, and what it sends is compared with the operations that its
 * routes name: a page that needed anything else than the admin API would fail.
 */

/** The pages of an organisation's own administrators are for members alone (test/browser/own-organization.test.ts). */
const deploymentRoutes = consoleRoutes.filter(({ isOfMember }) => isOfMember !== true);

let provider: LocalProvider;
let admin: AdminApi;
let kid: string;
let secretId: string;
/** Sending an invitation again replaces it. */
let invitationId = "";

/** The platform has it, Node has it elsewhere. */
Object.assign(crypto.subtle, { timingSafeEqual });

beforeAll(async () => {
  provider = await startLocalProvider({
    entryPoints: { "op-auth": "test/faults/broken-sign-in.ts" },
    vars: { SIGN_UP: "invitation", ...(await Mailbox.start()).variables("console") },
  });
  admin = new AdminApi(provider.origin, provider.admin);
  const client = { client_id: "app", client_name: "App", grant_types: ["client_credentials"] };
  await admin.require("POST", "/clients", client);
  const { secrets } = await admin.require("GET", "/clients/app/secrets");
  secretId = (secrets as readonly { readonly secret_id: string }[])[0]!.secret_id;
  const claims = { email: "somebody@example.com", email_verified: true };
  await admin.require("POST", "/users", { sub: "somebody", username: "somebody", claims });
  await admin.require("POST", "/resources", {
    identifier: "https://api.example.com",
    resource_id: "notes",
    name: "Notes",
  });
  await admin.require("POST", "/issuers", {
    ...{ issuer_id: "ci", issuer: "https://ci.example.com", algorithms: ["ES256"] },
    ...{ jwks_uri: "https://ci.example.com/jwks", rules: [] },
  });
  await admin.require("POST", "/upstreams", {
    ...{ upstream_id: "corp", name: "Corp", issuer: "https://login.corp.example", client_id: "op", client_secret: "s" },
  });
  await admin.require("POST", "/attributes", { attribute: "cost_centre", type: "string", title: "Cost centre" });
  await admin.require("POST", "/invitations", { email: "maria@example.com" });
  await admin.require("PUT", "/client-document-hosts/agents.example.com", { policy: "deny" });
  await admin.require("PUT", "/roles/editor", { permissions: ["articles:write"] });
  await admin.require("PUT", "/groups/staff", { roles: ["editor"] });
  await admin.require("PUT", "/organization-roles/billing", { permissions: ["invoices:read"] });
  await admin.require("POST", "/organizations", { org_id: "acme", name: "Acme" });
  await admin.require("PUT", "/organizations/acme/members/somebody", {});
  await admin.require("POST", "/users", { sub: "newcomer", username: "newcomer" });
  const { keys } = await admin.require("GET", "/keys");
  kid = (keys as readonly { readonly kid: string; readonly alg: string; readonly state: string }[]).find(
    ({ alg, state }) => alg === "EdDSA" && state === "active",
  )!.kid;
});

afterAll(() => provider.stop());

/** The values for the parameters of a path. */
function pathOf(route: string): string {
  const values: Readonly<Record<string, string>> = {
    "/console/clients/:id": "/console/clients/app",
    "/console/users/:id": "/console/users/somebody",
    "/console/resources/:id": "/console/resources/notes",
    "/console/issuers/:id": "/console/issuers/ci",
    "/console/upstreams/new/:kind": "/console/upstreams/new/oidc",
    "/console/upstreams/:id": "/console/upstreams/corp",
    "/console/roles/:id": "/console/roles/editor",
    "/console/organizations/:id": "/console/organizations/acme",
    "/console/organization-roles/:id": "/console/organization-roles/billing",
    "/console/groups/:id": "/console/groups/staff",
    "/console/attributes/:id": "/console/attributes/cost_centre",
    "/console/invitations/:id": `/console/invitations/${invitationId}`,
    "/console/document-hosts/:id": "/console/document-hosts/agents.example.com",
    "/console/held-records/:kind/:id": "/console/held-records/client/app",
    ":framework": "auth-js",
    ":kid": kid,
    ":secret": secretId,
    ":member": "somebody",
    ":one": "unknown",
  };
  return Object.entries(values).reduce((text, [name, value]) => text.replace(name, value), route);
}

/** The values for a form, by the names of its fields. */
const written: Readonly<Record<string, string>> = {
  ...{ client_name: "Renamed", origin: "https://photos.example.com", overlap: "3600" },
  ...{ name: "anything", identifier: "https://photos.example.com/api", alg: "ES256", email: "anna@example.com" },
  ...{ profile: "service", subject: '{"sub":"repo"}', issuer: "https://tokens.example.com", client_id: "another" },
  ...{ "claims.name": "Renamed", "username@/console/users/new": "another" },
  ...{ upstream_id: "partner", token_endpoint_auth_method: "client_secret_basic", client_secret: "s", sign_up: "off" },
  ...{
    discovery: "off",
    role: "author",
    group: "writers",
    org_id: "beta",
    "sub@/console/organizations/acme/new-member": "newcomer",
    permissions: "articles:read",
    roles: "author",
    groups: "writers",
  },
  ...{
    attribute: "shoe_size",
    type: "string",
    title: "Size",
    store: "relay",
    host: "apps.example.net",
    policy: "ask",
    decision: "refuse",
    regions: "weur: 1",
    locale: "de",
    corner_radius: "4",
  },
};

/** Deletions of records come last, and deletions of their parts before them. */
function rankOf({ path }: { readonly path: string }): number {
  return /\/(delete|revoke)$/.test(path) ? 2 : Number(path.endsWith("/end"));
}

interface Sent {
  readonly method: string;
  readonly path: string;
}

async function createConsole() {
  const { client_id: id, client_secret: secret } = provider.admin;
  const authorization = basicAuthorization({ client_id: id, client_secret: secret });
  const form = { grant_type: "client_credentials" };
  const { body } = await postForm(`${provider.origin}/token`, form, { authorization });
  const env = { ISSUER: provider.issuer, OP_MASTER_KEY: provider.stores.masterKey } as OwnEnv;
  const execution = { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} };
  const session = {
    ...{ id: "one", token: String(body["access_token"]), sub: "admin", name: "Administration" },
    ...{ expiresAtMs: Date.now() + 3_600_000, scopes: String(body["scope"]).split(" ") },
  };
  const cookie = (
    await sessionCookie(createRequestContext(new Request(provider.origin), env, execution), session)
  ).split(";")[0]!;
  const sent: Sent[] = [];
  const app = createAppWith<OwnEnv>((worker, request) => {
    expect(worker).toBe("MANAGEMENT");
    sent.push({ method: request.method, path: new URL(request.url).pathname.replace(/^\/admin/, "") });
    return fetch(request);
  });
  const call = async (path: string, form?: URLSearchParams): Promise<Response> => {
    const init = form === undefined ? { headers: { cookie } } : { method: "POST", headers: { cookie }, body: form };
    return app.fetch(new Request(`${provider.origin}${path}`, init), env, execution);
  };
  return { sent, call };
}

/** The fields of the page's own form: the last one signs out. */
function readForm(html: string): URLSearchParams {
  const form = /<form method="post" action="(?!\/console\/sign-out|\/flow)[\s\S]*?<\/form>/.exec(html)?.[0] ?? "";
  const action = /action="([^"]*)"/.exec(form)?.[1];
  const fields = new URLSearchParams();
  for (const [tag] of form.matchAll(/<(?:input|textarea|select)[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(tag)?.[1] ?? "";
    if (/type="checkbox"/.test(tag)) {
      if (/ checked/.test(tag)) fields.set(name, "true");
      continue;
    }
    fields.set(
      name,
      written[`${name}@${action}`] ??
        written[name] ??
        (/value="([^"]*)"/.exec(tag)?.[1] ?? "").replaceAll("&quot;", '"'),
    );
  }
  return fields;
}

/** The operations of the OpenAPI document as patterns of their paths. */
async function readOperations() {
  const document = (await (await fetch(`${provider.origin}/admin/openapi.json`)).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
  };
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => ({
      operationId,
      method: method.toUpperCase(),
      pattern: new RegExp(`^${path.replace(/^\/admin/, "").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
    })),
  );
}

describe("the console with op-auth down", () => {
  it("every page and change works by client credentials, and sends the operations that its route names alone", {
    timeout: 180_000,
  }, async () => {
    expect((await fetch(`${provider.origin}/authorize`)).status).toBe(503);
    const operations = await readOperations();
    const operationOf = ({ method, path }: Sent) =>
      operations.find((each) => each.method === method && each.pattern.test(path))?.operationId ?? `${method} ${path}`;
    const used = new Map<string, Set<string>>();
    const problems: string[] = [];
    const routes = deploymentRoutes.toSorted((one, other) => rankOf(one) - rankOf(other));
    const { sent, call } = await createConsole();
    for (const route of routes) {
      const { invitations } = await admin.require("GET", "/invitations");
      invitationId = (invitations as readonly { readonly invitation_id: string }[])[0]?.invitation_id ?? "";
      sent.length = 0;
      const path = pathOf(route.path);
      const page = await call(path);
      const html = await page.text();
      if (page.status !== 200) problems.push(`${path}: ${page.status}`);
      if (html.length > 50_000) problems.push(`${path} has ${html.length} bytes`);
      if (route.accepts.includes("POST")) {
        const confirmation = await call(path, readForm(html));
        const shown = await confirmation.text();
        const isOver = confirmation.status === 303 || !shown.includes('id="confirm"');
        const result = isOver ? confirmation : await call(path, readForm(shown));
        const text = isOver ? shown : await result.text();
        // Nobody has signed in, so there is no session, consent, grant or factor that could be ended.
        const isMissing = path.includes("/unknown/end") && result.status === 404;
        const isRefused = result.status === 409 && route.operations.some((each) => /^end|delete/.test(each));
        if (result.status >= 400 && !isMissing && !isRefused) {
          problems.push(`${path}: ${result.status} ${/id="problem"[\s\S]{0,300}/.exec(text)?.[0] ?? ""}`);
        }
      }
      used.set(route.path, new Set(sent.map(operationOf)));
    }
    expect(problems).toEqual([]);
    const named = new Map(deploymentRoutes.map(({ path, operations: own }) => [path, new Set(own)]));
    expect(Object.fromEntries(used)).toEqual(Object.fromEntries(routes.map(({ path }) => [path, named.get(path)])));
  });
});

describe("the start page", () => {
  it("connects an application of every framework: the client exists, and no value of docs/clients.md is left in the code", {
    timeout: 60_000,
  }, async () => {
    const { call } = await createConsole();
    const list = await (await call("/console/start")).text();
    const paths = [...list.matchAll(/href="(\/console\/start\/[^"]+)"/g)].map(([, path = ""]) => path);
    expect(paths.length).toBeGreaterThan(15);
    for (const path of paths) {
      const confirmation = await (await call(path, readForm(await (await call(path)).text()))).text();
      const done = await call(path, readForm(confirmation));
      expect(done.status, path).toBe(200);
      const html = await done.text();
      const code = [...html.matchAll(/<pre class="secret">([\s\S]*?)<\/pre>/g)].map(([, text = ""]) => text).join("\n");
      const [, clientId = ""] = /<dd>([^<]+)<\/dd>/.exec(html) ?? [];
      expect(code, path).toContain(clientId);
      expect(code, path).toContain(provider.issuer);
      expect(code, path).not.toMatch(/\b(?:CLIENT_ID|CLIENT_SECRET|RANDOM_SECRET)\b|\b(?:op|app)\.example\.com/);
      const { body } = await admin.call("GET", `/clients/${clientId}`);
      expect(String(body["redirect_uris"]), path).toMatch(/^https:\/\/photos\.example\.com\//);
    }
  });
});

describe("the names of roles and groups", () => {
  it.each([
    ["/console/users/new", "roles", { username: "someone" }],
    ["/console/users/new", "groups", { username: "someone" }],
    ["/console/users/named/edit", "roles", {}],
    ["/console/users/named/edit", "groups", {}],
    ["/console/invitations/new", "roles", { email: "someone@example.com" }],
    ["/console/invitations/new", "groups", { email: "someone@example.com" }],
    ["/console/groups/new", "roles", { group: "someones" }],
  ] as const)("%s: one of %s that does not exist is named before it is given", async (path, list, others) => {
    await admin.call("POST", "/users", { sub: "named", username: "named", roles: ["former"], groups: ["former"] });
    await admin.require("PUT", "/roles/editor", { permissions: ["articles:write"] });
    await admin.require("PUT", "/groups/staff", { roles: ["editor"] });
    const known = list === "roles" ? "editor" : "staff";
    const { call } = await createConsole();
    const confirm = async (names: readonly string[]) => {
      const form = readForm(await (await call(path)).text());
      form.delete("roles");
      form.delete("groups");
      for (const [name, value] of Object.entries({ ...others, [list]: names.join("\n") })) form.set(name, value);
      const html = await (await call(path, form)).text();
      expect(html).toContain('id="confirm"');
      return /id="warning">[^<]*<strong>([^<]*)</.exec(html)?.[1];
    };
    expect(await confirm([known, "edittor", "nosuch"])).toBe("edittor, nosuch");
    // What the person had is not part of the change.
    expect(await confirm(path.endsWith("/edit") ? [known, "former"] : [known])).toBeUndefined();
  });
});

describe("the audit log", () => {
  it("shows what an event says as names and values, in words where there are some", async () => {
    const changes = { claims: { name: "Named" }, status: "suspended" };
    await admin.call("POST", "/users", { sub: "listed", username: "listed" });
    await admin.require("PATCH", "/users/listed", changes);
    const { call } = await createConsole();
    const read = async () => (await call("/console/audit?target=listed&type=user.update")).text();
    await expect.poll(read, { timeout: 30_000, interval: 500 }).toContain("<strong>user.update</strong>");
    const html = await read();
    const facts = [...html.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(([, name, value]) => `${name}: ${value}`);
    expect(facts).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^Time: \d{4}-/),
        "Record: listed",
        expect.stringMatching(/^Changed: .*status/),
        "Client of who acted: admin",
      ]),
    );
    expect(html).not.toMatch(/\{&quot;/);
  });
});

describe("the largest records that the admin API accepts", () => {
  /** Quotes are written as references, six times as long. */
  const quotes = (length: number) => '"'.repeat(length);
  const many = <Value>(count: number, one: (index: number) => Value) =>
    Array.from({ length: count }, (_, at) => one(at));
  const uris = many(100, (at) => `https://photos.example.com/${at}?${"&".repeat(2000)}`);
  const rules = (count: number) =>
    many(count, (at) => ({
      ...{ rule_id: `rule-${at}`, uses: ["assertion"], claims: { sub: { exact: quotes(256) } }, scopes: ["deploy"] },
      ...{ client_id: "app", subject: { type: "client" }, audiences: ["https://api.example.com"] },
    }));
  const issuer = (id: string, count: number) => ({
    ...{ issuer_id: id, issuer: `https://${id}.example.com`, algorithms: ["ES256"], rules: rules(count) },
    jwks_uri: "https://ci.example.com/jwks",
  });
  const records: Readonly<Record<string, readonly [method: "POST" | "PUT", path: string, body: object]>> = {
    "clients/largest": ["POST", "/clients", { client_id: "largest", client_name: quotes(100), redirect_uris: uris }],
    "resources/largest": [
      ...(["POST", "/resources"] as const),
      {
        ...{ identifier: "https://largest.example.com", resource_id: "largest", name: quotes(100), clients: "any" },
        scopes: many(100, (at) => ({ value: `value-${at}`, description: quotes(100) })),
      },
    ],
    "issuers/largest": ["POST", "/issuers", issuer("largest", 50)],
    "issuers/usual": [
      "POST",
      "/issuers",
      {
        ...issuer("usual", 20),
        rules: rules(20).map((rule) => ({ ...rule, claims: { sub: { exact: "repo:acme" } } })),
      },
    ],
    "roles/largest": ["PUT", "/roles/largest", { permissions: many(200, (at) => `p${at}:${"x".repeat(100)}`) }],
    "users/somebody-large": [
      ...(["POST", "/users"] as const),
      {
        ...{ sub: "somebody-large", username: "largest", roles: ["largest"] },
        claims: { name: quotes(200), email: "a@example.com" },
      },
    ],
  };

  it("no page of one, no form and no list of them has more than 50 kB; a form that would is refused before it is filled in", {
    timeout: 120_000,
  }, async () => {
    for (const [method, path, body] of Object.values(records)) await admin.require(method, path, body);
    for (const at of Array.from({ length: 60 }, (_, index) => index)) {
      await admin.require("PUT", `/roles/r${at}${"x".repeat(58)}`, records["roles/largest"]![2]);
      const resource = {
        ...records["resources/largest"]![2],
        resource_id: `r${at}`,
        identifier: `https://r${at}.example.com`,
      };
      await admin.require("POST", "/resources", resource);
      const host = `${"h".repeat(60)}.${"h".repeat(60)}.${"h".repeat(60)}.h${at}.example`;
      await admin.require("PUT", `/client-document-hosts/${host}`, { policy: "ask" });
    }
    const { call } = await createConsole();
    const sizes: Record<string, number> = {};
    const read = async (path: string, form?: URLSearchParams) => {
      const response = await call(`/console/${path}`, form);
      const html = await response.text();
      sizes[`${path}${form === undefined ? "" : ", confirmation"}: ${response.status}`] = Buffer.byteLength(html);
      return { status: response.status, html };
    };
    for (const list of ["clients", "users", "roles", "resources", "issuers", "held-records"]) await read(list);
    await read("clients/largest/test");
    for (const path of Object.keys(records)) {
      await read(path);
      const { status, html } = await read(`${path}/edit`);
      if (status === 200) await read(`${path}/edit`, readForm(html));
    }
    const tooLarge = Object.entries(sizes).filter(([, bytes]) => bytes > 50_000);
    expect(tooLarge).toEqual([]);
    expect(Object.keys(sizes).filter((name) => !name.endsWith("200"))).toEqual([
      "clients/largest/edit: 413",
      "resources/largest/edit: 413",
      "issuers/largest/edit: 413",
    ]);
    expect(sizes).toHaveProperty(["issuers/usual/edit, confirmation: 200"]);
  });
});
