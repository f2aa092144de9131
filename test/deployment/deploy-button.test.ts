/**
 * **The "Deploy to Cloudflare" button**: the steps of Workers Builds on a copy of the repository in which Cloudflare has set the ids of the stores
 * that it created. The button itself, which creates them, belongs to Cloudflare.
 */

import { randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { LocalCloudflare } from "./local-cloudflare/local-cloudflare.ts";
import { runNode } from "./operator.ts";

let local: LocalCloudflare;
let copy: string;
const issuer = "https://edge-op.example.workers.dev";
const key = randomBytes(32).toString("base64url");

beforeAll(async () => {
  local = await LocalCloudflare.start();
  copy = mkdtempSync(join(tmpdir(), "edge-op-button-"));
  copyRepository();
});

afterAll(async () => {
  rmSync(copy, { recursive: true, force: true });
  await local.stop();
});

/** The files of the checkout; dependencies are those of the checkout itself. */
function copyRepository(): void {
  const dependencies = /(^|\/)(node_modules|\.wrangler)$/;
  for (const name of ["packages", "scripts", "migrations", "audit-migrations", "package.json", "tsconfig.base.json"]) {
    cpSync(join(repositoryRoot, name), join(copy, name), {
      recursive: true,
      filter: (source) => !dependencies.test(source),
    });
  }
  symlinkSync(join(repositoryRoot, "node_modules"), join(copy, "node_modules"));
  for (const name of readdirSync(join(copy, "packages"))) {
    const from = join("packages", name, "node_modules");
    symlinkSync(join(repositoryRoot, from), join(copy, from));
  }
}

async function create(path: string, body: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(`${local.apiUrl}/accounts/${local.account.id}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${local.token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { result: Record<string, unknown> }).result;
}

/** Creates stores like the button before the first build. */
async function createStores(): Promise<void> {
  const file = readFileSync(join(repositoryRoot, "wrangler.toml"), "utf8");
  const main = await create("/d1/database", { name: "edge-op" });
  const audit = await create("/d1/database", { name: "edge-op-audit" });
  const cache = await create("/storage/kv/namespaces", { title: "edge-op-cache" });
  await create("/queues", { queue_name: "edge-op-audit" });
  for (const name of ["edge-op-audit", "edge-op-backup"]) await create("/r2/buckets", { name });
  const written = file
    .replace("00000000-0000-0000-0000-000000000000", String(main["uuid"]))
    .replace("00000000-0000-0000-0000-000000000001", String(audit["uuid"]))
    .replace('"00000000000000000000000000000000"', `"${String(cache["id"])}"`);
  writeFileSync(join(copy, "wrangler.toml"), written);
}

function run(command: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  return runNode(local, copy, command, { CLOUDFLARE_ACCOUNT_ID: local.account.id, ...environment });
}

function post(path: string, authorization: string, body: string): Promise<Response> {
  // The local edge has one address; fetch does not set Host, so the Worker's own port is called.
  const { port } = local.account.scripts.get("edge-op")!;
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { authorization, "content-type": "application/x-www-form-urlencoded" },
    body,
  });
}

describe("ADR 32: the button", () => {
  test("a build applies the migrations and deploys one Worker, whose issuer is its address under workers.dev", async () => {
    await createStores();
    const { code, output } = await run(["scripts/deploy-command.ts"], { WORKERS_CI: "1" });
    expect(output).toContain(`The provider is at ${issuer}`);
    expect(code).toBe(0);
    expect([...local.account.scripts.keys()]).toEqual(["edge-op"]);
    expect(local.account.scripts.get("edge-op")!.subdomainEnabled).toBe(true);
    const [database] = [...local.account.databases.values()];
    const tables = (await local.workers.query(
      database!.uuid,
      "SELECT count(*) AS n FROM sqlite_master WHERE name = 'clients'",
      [],
    )) as { results: { n: number }[] }[];
    expect(tables[0]!.results).toEqual([{ n: 1 }]);
  });

  test("with the entered key and the printed command, the admin client gets a token; a second build keeps both", async () => {
    // The button sets the secret that was entered.
    const response = await fetch(`${local.apiUrl}/accounts/${local.account.id}/workers/scripts/edge-op/secrets-bulk`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${local.token}`, "content-type": "application/json" },
      body: JSON.stringify({ secrets: { OP_MASTER_KEY: { text: key } } }),
    });
    expect(response.status).toBe(200);
    const { code, output } = await run(["scripts/create-button-admin-client.ts", "--issuer", issuer], {
      OP_MASTER_KEY: key,
    });
    expect(code).toBe(0);
    const admin = `Basic ${btoa(`admin:${/client_secret {2}(\S+)/.exec(output)![1]}`)}`;
    await local.workers.ready();
    expect((await post("/token", admin, "grant_type=client_credentials")).status).toBe(200);
    const again = await run(["scripts/deploy-command.ts"], { WORKERS_CI: "1" });
    expect(again.code).toBe(0);
    await local.workers.ready();
    const token = await post("/token", admin, "grant_type=client_credentials");
    const { access_token } = (await token.json()) as { access_token: string };
    const introspection = await post("/introspect", admin, `token=${access_token}`);
    expect(await introspection.json()).toMatchObject({ active: true, iss: issuer });
  });
});
