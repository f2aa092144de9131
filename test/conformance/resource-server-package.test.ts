import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundleWorker } from "../../packages/edge-op/src/bundle-worker.ts";
import { postForm } from "../../packages/edge-op/src/provider-api.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { EmptyFolder } from "./fixtures/packed-package.ts";
import { accessToken, type TestClient } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/** `@edge-op/resource-server` as others get it: from its tarball, in an empty folder, with the lines of its README. */
const folder = new EmptyFolder();
const readme = readFileSync(join(repositoryRoot, "packages/resource-server/README.md"), "utf8");
const resource = "http://localhost:9/notes";
const variables = { ISSUER: provider.issuer, RESOURCE: resource };
let client: TestClient;

function exampleOf(file: string): string {
  const [, text] = new RegExp(`<!-- example: ${file} -->\n\`\`\`js\n([\\s\\S]*?)\`\`\``).exec(readme) ?? [];
  if (text === undefined) throw new Error(`the README has no example ${file}`);
  return text;
}

beforeAll(async () => {
  await folder.install("resource-server", ["jose"]);
  folder.link("hono", "4");
  folder.link("express", "5");
  await fixtures.admin.require("POST", "/resources", {
    identifier: resource,
    name: "Notes",
    clients: "registered",
    scopes: [{ value: "notes:read", description: "Read your notes" }],
  });
  client = await fixtures.client({ scope: "notes:read", audiences: [resource] });
}, 180_000);
afterAll(() => folder.remove());

async function tokenFor(audience: string | undefined): Promise<string> {
  const form = { grant_type: "client_credentials", ...(audience === undefined ? {} : { resource: audience }) };
  return accessToken(await postForm(`${provider.origin}/token`, form, { authorization: client.authorization }));
}

type Send = (path: string, init?: RequestInit) => Promise<Response>;

async function expectProtection(send: Send, path: string): Promise<void> {
  const metadata = await send("/.well-known/oauth-protected-resource/notes");
  expect(await metadata.json()).toMatchObject({ resource, authorization_servers: [provider.issuer] });
  const none = await send(path);
  expect([none.status, none.headers.get("www-authenticate")]).toEqual([401, expect.stringContaining("notes:read")]);
  const authorization = `Bearer ${await tokenFor(resource)}`;
  const accepted = await send(path, { headers: { authorization } });
  expect([accepted.status, await accepted.json()]).toEqual([200, { user: client.client_id, scope: ["notes:read"] }]);
  const altered = authorization.replace(/(?<=\.)[\w-](?=[^.]*$)/, (first) => (first === "A" ? "B" : "A"));
  const changed = await send(path, { headers: { authorization: altered } });
  expect([changed.status, await changed.json()]).toMatchObject([401, { error: "invalid_token" }]);
}

/** Runs an example in a Node of its own. */
async function withServer(source: string, use: (send: Send) => Promise<void>): Promise<void> {
  writeFileSync(folder.file("server.js"), source);
  const server = spawn(process.execPath, ["server.js"], {
    cwd: folder.path,
    env: { ...process.env, ...variables },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const { value: port } = await createInterface(server.stdout)[Symbol.asyncIterator]().next();
    await use((path, init) => fetch(`http://localhost:${port}${path}`, init));
  } finally {
    server.kill();
  }
}

describe("the tarball of @edge-op/resource-server", () => {
  test("contains built modules with types and source maps, and depends on jose alone", () => {
    const installed = folder.file("node_modules/@edge-op/resource-server");
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Record<string, unknown>;
    expect(manifest).toMatchObject({ license: "MIT", publishConfig: { access: "public" }, engines: { node: ">=20" } });
    expect(manifest["private"]).toBe(undefined);
    expect(Object.keys(manifest["dependencies"] as object)).toEqual(["jose"]);
    const exported = Object.values(manifest["exports"] as Record<string, Record<string, string>>);
    const files = exported.flatMap((entry) => [...Object.values(entry), `${entry["default"]}.map`]);
    expect(files.filter((path) => !existsSync(join(installed, path)))).toEqual([]);
    expect(readdirSync(installed).toSorted()).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
  });

  test("its types need nothing of this repository", async () => {
    const source = `import { OAuthResourceServer } from "@edge-op/resource-server";
import { type McpAuthInfo, toMcpAuthInfo } from "@edge-op/resource-server/mcp-auth-info";
import { introspectionValidator } from "@edge-op/resource-server/validate-by-introspection";
const validate = introspectionValidator({ endpoint: "https://op.example.com/introspect", clientId: "api", clientSecret: "secret" });
export default new OAuthResourceServer({
  resourceMetadata: { resource: "https://api.example.com/", authorization_servers: ["https://op.example.com"] },
  validateToken: () => validate,
  handler: {
    fetch: (_request, _env, { auth, props }) => {
      const info: McpAuthInfo = toMcpAuthInfo(auth);
      const subject: string | undefined = props.sub;
      // @ts-expect-error: the scope is a list.
      const scope: string = auth.scope;
      return Response.json({ info, subject, scope });
    },
  },
});`;
    writeFileSync(folder.file("typed.ts"), source);
    const options = [
      "--strict",
      "--noEmit",
      "--module",
      "nodenext",
      "--target",
      "es2023",
      "--lib",
      "es2023,dom",
      "--types",
      "",
    ];
    const tsc = join(repositoryRoot, "node_modules/.bin/tsc");
    expect(await folder.run(tsc, [...options, "typed.ts"])).toBe("");
  });

  test("the README's lines for Hono protect an API in Node", async () => {
    const serve = `import { createServer } from "node:http";
createServer(async ({ url, headers }, outgoing) => {
  const response = await app.fetch(new Request(new URL(url, RESOURCE), { headers }));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
}).listen(0, function () { console.log(this.address().port); });`;
    await withServer(`${exampleOf("hono.js")}\n${serve}`, (send) => expectProtection(send, "/notes"));
  });

  test("the README's lines for Express protect an API in Node", async () => {
    const api = exampleOf("hono.js")
      .split("export const app")[0]!
      .replace(/import .* from "hono";/, "");
    const serve = `app.listen(0, function () { console.log(this.address().port); });`;
    await withServer(`${api}\n${exampleOf("express.js")}\n${serve}`, (send) => expectProtection(send, "/notes"));
  });

  test("the README's lines for Workers protect an API in workerd", async () => {
    mkdirSync(folder.file("src"));
    writeFileSync(folder.file("src/worker.js"), exampleOf("worker.js"));
    const contents = await bundleWorker("src/worker.js", { absWorkingDir: folder.path });
    const worker = new Miniflare(
      convertV4MiniflareOptions({
        modules: [{ type: "ESModule", path: "worker.js", contents }],
        compatibilityDate: "2026-10-20",
        bindings: variables,
        cf: false,
        telemetry: { enabled: false },
      }),
    );
    try {
      const origin = (await worker.ready).href;
      await expectProtection((path, init) => fetch(new URL(path, origin), init), "/notes");
    } finally {
      await worker.dispose();
    }
  });

  test("the helper for MCP is in it", async () => {
    const source = `import { toMcpAuthInfo } from "@edge-op/resource-server/mcp-auth-info";
const auth = { token: "t", scheme: "Bearer", audience: "https://mcp.example.com/mcp", scope: ["a"], userId: "alice", clientId: "c" };
console.log(JSON.stringify(toMcpAuthInfo({ ...auth, resourceMetadataUrl: "https://mcp.example.com/m" })));`;
    writeFileSync(folder.file("mcp.js"), source);
    expect(JSON.parse(await folder.run(process.execPath, ["mcp.js"]))).toEqual({
      token: "t",
      clientId: "c",
      scopes: ["a"],
      resource: "https://mcp.example.com/mcp",
      resourceMetadataUrl: "https://mcp.example.com/m",
      extra: { userId: "alice" },
    });
  });
});
