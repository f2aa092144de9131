/**
 * **`npm run deploy` and wrangler, unchanged, against a local Cloudflare** that runs what they upload. One account's history: each test continues
 * where the one before it ended.
 */

import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { workers } from "../../packages/edge-op/src/workers.ts";
import { routePatterns } from "../../scripts/deploy/worker-configuration.ts";
import { describeCalls } from "./golden-calls.ts";
import { runningVersion, type Script, type UploadMetadata } from "./local-cloudflare/account-state.ts";
import { LocalCloudflare, type RecordedCall } from "./local-cloudflare/local-cloudflare.ts";
import { changes, Operator } from "./operator.ts";

let local: LocalCloudflare;
let operator: Operator;
const issuer = "https://op.example.com";

beforeAll(async () => {
  local = await LocalCloudflare.start({ accounts: ["Example", "Other"] });
  operator = new Operator(local);
});

afterAll(async () => {
  operator.cleanUp();
  await local.stop();
});

function script(name: string): Script {
  const found = local.account.scripts.get(name);
  if (found === undefined) throw new Error(`${name} was not uploaded`);
  return found;
}

function secretOf(name: string): string | undefined {
  return runningVersion(script(name))?.bindings.find((binding) => binding.name === "OP_MASTER_KEY")?.text;
}

/** The key that was shown to the operator. */
function shownKey(output: string): string | undefined {
  return /OP_MASTER_KEY {2}(\S+)/.exec(output)?.[1];
}

/** The metadata of each upload, by Worker. */
function uploads(calls: readonly RecordedCall[]): { readonly name: string; readonly metadata: UploadMetadata }[] {
  return calls.flatMap(({ method, path, body }) => {
    const [, name] = /\/workers\/scripts\/([^/]+)(?:\/versions)?$/.exec(path) ?? [];
    if (name === undefined || method === "GET" || method === "DELETE") return [];
    return [{ name, metadata: (body as { metadata: UploadMetadata }).metadata }];
  });
}

let firstKey: string;

const settings: Record<string, string | number> = {};

/** Edits the environment's file. */
function set(name: string, value: string | number): void {
  settings[name] = value;
  const path = join(operator.deployments, "production.ts");
  const text = readFileSync(path, "utf8").replace(/^ {2}settings: .*\n/m, "");
  writeFileSync(path, text.replace("export default {\n", `$&  settings: ${JSON.stringify(settings)},\n`));
}

/** A key that differs from the first, whatever it starts with. */
function otherKey(first: string): string {
  return `${firstKey.startsWith(first) ? "D" : first}${firstKey.slice(1)}`;
}

describe("from an empty account to a verified provider", () => {
  test("a dry run prints the plan, calls nothing and writes no file", async () => {
    const { code, output, calls } = await operator.deploy(["--issuer", issuer, "--separate", "--dry-run"]);
    expect([code, calls]).toEqual([0, []]);
    expect(output).toContain("Worker         op-state: create if missing\n");
    expect(output).toContain("Worker         op-auth: create if missing, runs near its stores (Smart Placement)\n");
    expect(output).toContain("route          op.example.com/token* → op-token");
    expect(readdirSync(operator.deployments)).toEqual([]);
  });

  test("two accounts: the command lists them, and changes nothing", async () => {
    const { code, output, calls } = await operator.deploy(["--issuer", issuer, "--separate"]);
    expect(code).toBe(2);
    expect(output).toContain(`${local.accounts[1]!.id}  Other`);
    expect(output).toContain("Nothing was changed.");
    expect(changes(calls)).toEqual([]);
    expect(readdirSync(operator.deployments).filter((file) => file.endsWith(".ts"))).toEqual([]);
  });

  test("a failing step: completed steps are kept, the secrets are readable only by the owner, and nothing is shown", async () => {
    local.failOnce("PUT", /\/workers\/scripts\/op-state$/);
    const { code, output } = await operator.deploy(["--issuer", issuer, "--separate", "--account", "Example"]);
    expect(code).toBe(1);
    expect(output).toContain("✓ Migrations");
    expect(output).toContain("✗ Worker op-state: /accounts/");
    expect(output).toContain("op-state: The token lacks the permission Account › Workers Scripts: Edit");
    expect(output).not.toContain("open an issue");
    expect(output).toContain("run the same command: it continues there");
    expect(shownKey(output)).toBeUndefined();
    const kept = join(operator.deployments, ".generated/production/unfinished.json");
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    firstKey = (JSON.parse(readFileSync(kept, "utf8")) as { OP_MASTER_KEY: string }).OP_MASTER_KEY;
  });

  test("the same command continues: the same key on every Worker, shown once, and a client verifies the deployment", async () => {
    const { code, output, calls } = await operator.deploy(["--administrator", "maria@example.com"]);
    expect(output).toContain("✓ Verification");
    expect(code).toBe(0);
    expect(changes(calls).filter((call) => call.endsWith("/d1/database"))).toEqual([]);
    expect(shownKey(output)).toBe(firstKey);
    expect(output).toContain(`For maria@example.com alone, once, for a day:\n  ${issuer}/invitation?token=`);
    const keyed = ["op-state", "op-token", "op-management", "op-userinfo", "op-auth", "op-console"];
    expect(keyed.map(secretOf)).toEqual(keyed.map(() => firstKey));
    expect(secretOf("op")).toBeUndefined();
    expect(output).toContain("43 objects run the uploaded version and key");
    expect(output).toContain("the token is revoked, and it introspects as inactive at once");
    expect(existsSync(join(operator.deployments, ".generated/production/unfinished.json"))).toBe(false);
    expect(
      readdirSync(join(operator.deployments, ".generated/production")).filter((file) => /secret/.test(file)),
    ).toEqual([]);
    const secret = /client_secret {2}(\S+)/.exec(output)?.[1];
    const token = await fetch(`${local.edgeOrigin}/token`, {
      method: "POST",
      headers: {
        authorization: `Basic ${btoa(`admin:${secret}`)}`,
        "content-type": "application/x-www-form-urlencoded",
      },
      body: "grant_type=client_credentials",
    });
    // Without the issuer's host, no Worker receives the request.
    expect(token.status).toBe(530);
  });

  test("the uploads are in order, and contain the deliberate settings", async () => {
    const all = uploads(local.calls);
    const order = all.map(({ name }) => name);
    expect([...new Set(order)].sort()).toEqual(workers.map(({ name }) => name).sort());
    expect([order[0], order.at(-1)]).toEqual(["op-state", "op"]);
    const { metadata } = all.find(({ name }) => name === "op-state")!;
    expect(metadata).toMatchObject({
      code_update_strategy: { mode: "deferred", max_delay: 15 },
      limits: { cpu_ms: 30_000 },
      observability: { enabled: true, redact_query_string: true },
      migrations: { new_tag: "v1" },
      compatibility_flags: ["global_fetch_strictly_public", "new_module_registry"],
    });
    expect(metadata.bindings).toContainEqual({ name: "ISSUER", type: "plain_text", text: issuer });
    expect(metadata.bindings).toContainEqual({ name: "OP_MASTER_KEY", type: "secret_text", text: firstKey });
    const deployed = local.zones[0]!.routes.map(({ pattern, script: owner }) => `${pattern} ${owner}`);
    const wanted = routePatterns(issuer).map(({ worker, pattern }) => `${pattern} ${worker}`);
    expect(deployed.sort()).toEqual(wanted.sort());
    expect(local.account.domains.get("op.example.com")?.service).toBe("op");
    const [audit] = [...local.account.queues.values()].filter(({ name }) => name === "op-audit");
    expect(audit!.consumers).toMatchObject([{ script: "op-management", deadLetters: "op-audit-dead" }]);
  });
});

describe("staging next to production", () => {
  test("a first deployment in the EU makes these calls, is verified with nothing in KV, and takes nothing from production", async () => {
    const before = [...local.account.scripts.keys()].map((name) => script(name).deployments.length);
    const file = [
      "--issuer",
      "https://staging.example.com",
      "--separate",
      "--jurisdiction",
      "eu",
      "--account",
      local.account.id,
    ];
    const { code, output, calls } = await operator.deploy(["--environment", "staging", ...file]);
    expect([code, output.match(/✗.*/g)]).toEqual([0, null]);
    expect(output).toContain("43 objects run the uploaded version and key");
    expect(output).toContain("the token is revoked, and it introspects as inactive at once");
    const namespace = [...local.account.namespaces.values()].find(({ title }) => title === "op-staging-cache");
    expect(await local.workers.keysOf(namespace!.id)).toEqual([]);
    await expect(describeCalls(calls, "op-staging")).toMatchFileSnapshot("golden/first-deployment.txt");
    const created = calls.find(({ method, path }) => method === "POST" && path.endsWith("/d1/database"));
    expect(created?.body).toEqual({ name: "op-staging", jurisdiction: "eu" });
    const all = ["op-state", "op-token", "op-management", "op-userinfo", "op-auth", "op-console", "op"];
    expect(all.map((name) => script(name).deployments.length).sort()).toEqual(before.sort());
    expect(secretOf("op-staging-state")).toBe(shownKey(output));
    expect(secretOf("op-staging-state")).not.toBe(firstKey);
    const placed = calls.find(({ body }) => JSON.stringify(body ?? "").includes("SELECT sum(value ->> '$.shards')"));
    expect(JSON.stringify(placed?.body)).toContain("'hint', 'weur'");
    for (const { name, metadata } of uploads(calls)) {
      const texts = JSON.stringify(metadata.bindings);
      expect(texts, name).toContain('"JURISDICTION"');
      expect(texts, name).not.toMatch(/"op-(state|token|management|userinfo|auth|audit)"/);
    }
  });

  test("destroying it requires its name and leaves production unchanged", async () => {
    const refused = await operator.deploy(["destroy", "--environment", "staging"]);
    expect([refused.code, changes(refused.calls)]).toEqual([2, []]);
    const { code, calls } = await operator.deploy(["destroy", "--environment", "staging", "--confirm", "staging"]);
    expect(code).toBe(0);
    expect([...local.account.scripts.keys()].sort()).toEqual(workers.map(({ name }) => name).sort());
    expect([...local.account.databases.values()].map(({ name }) => name).sort()).toEqual(["op", "op-audit"]);
    expect([...local.account.queues.values()].map(({ name }) => name).sort()).toEqual(["op-audit", "op-audit-dead"]);
    expect(
      changes(calls).every((call) => call.startsWith("DELETE ") && !/\/scripts\/op(-state|-token)?$/.test(call)),
    ).toBe(true);
    const again = await operator.deploy(["destroy", "--environment", "staging", "--confirm", "staging"]);
    expect([again.code, changes(again.calls)]).toEqual([0, []]);
  });
});

describe("upgrades and drift", () => {
  test("without a change nothing is uploaded, and the deployment is verified", async () => {
    const { code, output, calls } = await operator.deploy([]);
    expect([code, uploads(calls), output.match(/✗.*/g)]).toEqual([0, [], null]);
    expect(output).toContain("op-state is unchanged: not uploaded");
    expect(output).toContain("✓ Verification");
    expect(output).toContain(`Nothing changed: ${issuer} runs this release with these settings.`);
  });

  test("a setting of one Worker uploads that Worker", async () => {
    set("DISPLAY_NAME", "Example");
    local.failOnce("POST", /\/scripts\/op-console\/versions$/);
    const failed = await operator.deploy([]);
    const before = script("op-auth").deployments.at(-2)!.versionId;
    expect(failed.code).toBe(1);
    expect(failed.output).toContain("To go back to what was served before:\n  npm run deploy -- rollback");
    expect(failed.output).toContain(`  npm run deploy -- rollback ${before} auth\n`);
    expect(failed.output).not.toContain(" console\n");
    const { code, calls } = await operator.deploy([]);
    expect([code, uploads(calls).map(({ name }) => name)]).toEqual([0, ["op-console"]]);
  });

  test("the second deployment makes these calls, sends no secret, waits for the objects and verifies again", async () => {
    set("ACCESS_TOKEN_LIFETIME", 900);
    const { code, output, calls } = await operator.deploy([]);
    expect([code, output.match(/✗.*/g)]).toEqual([0, null]);
    await expect(describeCalls(calls, "op")).toMatchFileSnapshot("golden/upgrade.txt");
    expect(output).toContain("✓ Objects run the upload");
    expect(shownKey(output)).toBeUndefined();
    for (const { name, metadata } of uploads(calls)) {
      expect(
        metadata.bindings?.filter(({ type, text }) => type === "secret_text" && text !== undefined),
        name,
      ).toEqual([]);
    }
    expect(secretOf("op-token")).toBe(firstKey);
    expect(script("op-state").deployments.at(-1)?.codeUpdateStrategy).toEqual({ mode: "deferred", max_delay: 15 });
  });

  test("status shows versions, fingerprints and shards, and changes made in the dashboard", async () => {
    const same = await operator.deploy(["status"]);
    expect(same.output).toContain("Nothing differs from the environment's file.");
    expect(same.output).toMatch(/op-token +[\w-]{36} {2}runs [\w-]{36}, key [\w-]{11}/);
    expect(same.output).toMatch(/refresh +g1 {2}\{"wnam":\{"shards":8,"hint":"wnam"\}\} {2}newest/);
    expect([same.code, changes(same.calls)]).toEqual([0, []]);
    const [route] = local.zones[0]!.routes.splice(0, 1);
    const drifted = await operator.deploy(["status"]);
    expect(drifted.code).toBe(3);
    expect(drifted.output).toContain(`the route ${route!.pattern} → ${route!.script} is missing`);
    local.zones[0]!.routes.push(route!);
  });

  test("a changed secret is refused before anything is changed", async () => {
    const key = otherKey("B");
    const { code, output, calls } = await operator.deploy([], { OP_MASTER_KEY: key });
    expect(code).toBe(2);
    expect(output).toContain("OP_MASTER_KEY has changed");
    expect(changes(calls)).toEqual([]);
  });

  test("ADR 6: a step of a replacement ends when every Worker and object reports the keys", async () => {
    const wrong = await operator.deploy(["secrets"], { OP_MASTER_KEY: otherKey("B") });
    expect([wrong.code, changes(wrong.calls)]).toEqual([2, []]);
    const keys = {
      OP_MASTER_KEY: firstKey,
      OP_MASTER_KEY_PREVIOUS: otherKey("C"),
      OP_PAIRWISE_KEY: firstKey,
    };
    const { code, output } = await operator.deploy(["secrets"], keys);
    expect([code, output.match(/✗.*/g)]).toEqual([0, null]);
    expect(output).toContain("✓ Every Worker and object runs them");
    expect(output).toContain("every stored secret is sealed with the current key");
    expect(output).not.toContain(firstKey);
    const bindings = runningVersion(script("op-auth"))!.bindings;
    expect(bindings.find(({ name }) => name === "OP_MASTER_KEY_PREVIOUS")?.text).toBe(keys.OP_MASTER_KEY_PREVIOUS);
    expect(output).not.toContain("The console's secret");

    const swapped = { OP_MASTER_KEY: keys.OP_MASTER_KEY_PREVIOUS, OP_MASTER_KEY_PREVIOUS: firstKey };
    const next = await operator.deploy(["secrets"], swapped);
    expect([next.code, next.output.match(/✗.*/g)]).toEqual([0, null]);
    expect(next.output).toContain("✓ The console's secret");
    expect(next.output).toContain("Go on with the next step");

    const last = await operator.deploy(["secrets"], { ...swapped, OP_MASTER_KEY_PREVIOUS: "" });
    expect([last.code, last.output.match(/✗.*/g)]).toEqual([0, null]);
    expect(last.output).toContain("The replacement is complete.");
  });
});
