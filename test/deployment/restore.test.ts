/**
 * **docs/operating/backup.md and rollback.md as written**, in both shapes: their blocks are pasted on a machine that has only the environment's file
 * and the key, with no configuration that a deployment has generated.
 */

import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { LocalCloudflare } from "./local-cloudflare/local-cloudflare.ts";
import { changes, Operator } from "./operator.ts";

const text = ["backup.md", "rollback.md"].map((page) =>
  readFileSync(join(repositoryRoot, "docs/operating", page), "utf8"),
);
const blockOf = (mark: string) => new RegExp(`<!-- ${mark} -->\\n\`\`\`sh\\n([\\s\\S]*?)\`\`\``).exec(text.join())![1]!;

describe.each(["compact", "separate"] as const)("%s", (shape) => {
  const settings = shape === "separate" ? { JURISDICTION: "eu", REGION: "weur" } : {};
  const resources = { BACKUP: "op-backup" };
  const files = { "production.json": { issuer: "https://op.example.com", shape, settings, resources } };
  let local: LocalCloudflare;
  let first: Operator;
  let elsewhere: Operator;
  let key: string;
  let secret: string;
  let begun: string;

  beforeAll(async () => {
    local = await LocalCloudflare.start();
    first = new Operator(local);
    first.write(files);
    const { code, output } = await first.deploy([]);
    expect([code, output.match(/✗.*/g)]).toEqual([0, null]);
    secret = /client_secret {2}(\S+)/.exec(output)![1]!;
    key = /OP_MASTER_KEY {2}(\S+)/.exec(output)![1]!;
    elsewhere = new Operator(local);
    elsewhere.write(files);
  }, 180_000);

  afterAll(async () => {
    first.cleanUp();
    elsewhere.cleanUp();
    await local.stop();
  });

  async function call(method: string, path: string, body: object | string, authorization: string) {
    const type = typeof body === "string" ? "application/x-www-form-urlencoded" : "application/json";
    const headers = { host: "op.example.com", authorization, "content-type": type };
    return new Promise<{ status: number; body: Record<string, unknown> }>((resolve, reject) => {
      const outgoing = request(`${local.edgeOrigin}${path}`, { method, headers });
      outgoing.once("error", reject).once("response", (response) => {
        const parsed = json(response).catch(() => ({}));
        void parsed.then((found) => resolve({ status: response.statusCode!, body: found as Record<string, unknown> }));
      });
      outgoing.end(method === "GET" ? "" : typeof body === "string" ? body : JSON.stringify(body));
    });
  }

  async function admin(method: string, path: string, body: object = {}) {
    const basic = `Basic ${btoa(`admin:${secret}`)}`;
    const { body: token } = await call("POST", "/token", "grant_type=client_credentials", basic);
    return call(method, `/admin${path}`, body, `Bearer ${String(token["access_token"])}`);
  }

  async function awaitBackup(): Promise<string> {
    for (let attempt = 0; attempt < 150; attempt += 1, await sleep(200)) {
      const { objects } = await (await local.workers.bucket("op-backup")).list();
      const manifest = objects.find((each) => each.key.endsWith("/manifest"));
      if (manifest !== undefined) return manifest.key.split("/")[1]!;
    }
    throw new Error("no backup after 30 s");
  }

  test("the bucket is in the jurisdiction; one of its name outside of it is not used, and nothing is changed", async () => {
    const { buckets } = local.account;
    expect(buckets.get("op-backup")).toBe(shape === "separate" ? "eu" : "none");
    if (shape === "compact") return;
    buckets.set("op-backup", "none");
    const { code, output, calls } = await first.deploy([]);
    buckets.set("op-backup", "eu");
    expect([code, changes(calls)]).toEqual([2, []]);
    expect(output).toContain('The bucket "op-backup" is outside of the jurisdiction eu. Create it there');
  });

  test("a backup is listed, and restored over the database: what was changed since is held", async () => {
    expect((await admin("POST", "/users", { sub: "alice", username: "alice" })).status).toBe(201);
    expect((await admin("POST", "/deployment/backup")).status).toBe(204);
    begun = await awaitBackup();
    expect((await admin("PATCH", "/users/alice", { username: "renamed" })).status).toBe(200);
    const { code, output } = await elsewhere.paste(blockOf("restore"), { OP_MASTER_KEY: key, BACKUP: begun });
    expect([code, output.match(/✗.*/g)]).toEqual([0, null]);
    expect(output).toContain(`  ${begun}\n`);
    expect(output).toMatch(new RegExp(`The backup ${begun} was restored on this machine: \\d+ rows\\.`));
    expect(output).toContain("edge-op held-records list");
    expect((await admin("GET", "/users/alice")).body).toMatchObject({ username: "alice" });
  });

  test("with another key, a damaged part or no manifest it changes nothing, and says what is wrong", async () => {
    const refused = async (variables: Record<string, string>) => {
      const result = await elsewhere.paste(blockOf("restore"), variables);
      expect(result.calls.filter(({ method, path }) => method !== "GET" && !path.endsWith("/query"))).toEqual([]);
      return [result.code, result.output.match(/The backup .* cannot be restored: .*|Set OP_MASTER_KEY.*/)?.[0]];
    };
    expect(await refused({ OP_MASTER_KEY: `B${key.slice(1)}`, BACKUP: begun })).toEqual([
      2,
      expect.stringContaining("is damaged, or was sealed with another OP_MASTER_KEY"),
    ]);
    expect(await refused({ OP_MASTER_KEY: key, BACKUP: "2030-01-01T00:00:00.000Z" })).toEqual([
      2,
      expect.stringContaining("manifest does not exist: it is not complete"),
    ]);
    expect(await refused({ BACKUP: begun })).toEqual([2, expect.stringContaining("Set OP_MASTER_KEY")]);
    const bucket = await local.workers.bucket("op-backup");
    const part = `backup/${begun}/users/000001`;
    const content = await (await bucket.get(part))!.arrayBuffer();
    await bucket.delete(part);
    expect(await refused({ OP_MASTER_KEY: key, BACKUP: begun })).toEqual([2, expect.stringContaining("is missing")]);
    await bucket.put(part, content);
  });

  test("a database that is gone is created, restored and bound", async () => {
    const { databases } = local.account;
    const [id] = [...databases.values()].filter(({ name }) => name === "op").map(({ uuid }) => uuid);
    databases.delete(id!);
    local.workers.change();
    const restored = await elsewhere.paste(blockOf("restore"), { OP_MASTER_KEY: key, BACKUP: begun });
    expect([restored.code, restored.output.match(/✗.*/g)]).toEqual([0, null]);
    expect(restored.output).toContain("Bind the Workers to it: npm run deploy");
    const { code, output } = await elsewhere.deploy([]);
    expect([code, output.match(/✗.*/g)]).toEqual([0, null]);
    expect((await admin("GET", "/users/alice")).body).toMatchObject({ username: "alice" });
  }, 120_000);

  test("Time Travel sets the deployment's database back, and says how to undo it", async () => {
    const time = new Date(Date.now() - 3_600_000).toISOString();
    const { code, output, calls } = await elsewhere.paste(blockOf("time travel"), { TIME: time });
    expect([code, output]).toEqual([
      0,
      expect.stringContaining("To undo this: npm run deploy -- time-travel ffffffff-"),
    ]);
    const [id] = [...local.account.databases.values()].filter(({ name }) => name === "op").map(({ uuid }) => uuid);
    const travelled = calls.find(({ method, path }) => method === "POST" && path.endsWith("/time_travel/restore"));
    expect(travelled?.path).toContain(`/d1/database/${id}/`);
    const late = await elsewhere.paste(blockOf("time travel"), { TIME: "2020-01-01T00:00:00Z" });
    expect([late.code, late.output]).toEqual([2, expect.stringContaining("is not in the last 30 days")]);
  });

  test("the Worker that has an endpoint is rolled back to a version that it has served, and to no other", async () => {
    const script = local.account.scripts.get(shape === "compact" ? "op-state" : "op-token")!;
    const version = script.deployments[0]!.versionId;
    const { code, output } = await elsewhere.paste(blockOf("rollback"), { VERSION: version });
    expect([code, output]).toEqual([0, expect.stringContaining(`${version} 100 %`)]);
    expect(script.deployments.at(-1)).toMatchObject({
      versionId: version,
      ...(shape === "compact" ? { codeUpdateStrategy: { mode: "immediate" } } : {}),
    });
    const refused = await elsewhere.paste(blockOf("rollback"), { VERSION: "other" });
    expect([refused.code, script.deployments.at(-1)?.versionId]).toEqual([2, version]);
  });

  test("a version is uploaded, serves nothing, and gets a share of the requests, then all of them", async () => {
    const script = local.account.scripts.get(shape === "compact" ? "op-state" : "op-token")!;
    const [before, deployed] = [script.deployments.at(-1)!.versionId, script.deployments.length];
    const uploaded = await elsewhere.deploy(["upload", "token"]);
    expect([uploaded.code, uploaded.output.match(/✗.*/g)]).toEqual([0, null]);
    const version = script.versions.at(-1)!.id;
    expect(uploaded.output).toContain(`npm run deploy -- share ${version} 10 token`);
    expect([script.deployments.length, version === before]).toEqual([deployed, false]);
    const { code, output } = await elsewhere.paste(blockOf("gradually"), { VERSION: version });
    expect([code, output]).toEqual([0, expect.stringContaining(`${version} 10 %, ${before} 90 % from now on`)]);
    expect(script.deployments.slice(deployed).map(({ versions }) => versions)).toEqual([
      [
        { version_id: version, percentage: 10 },
        { version_id: before, percentage: 90 },
      ],
      [{ version_id: version, percentage: 100 }],
    ]);
    expect((await call("GET", "/health", "", "")).status).toBe(200);
    for (const [wrong, why] of [
      [[version, "0", "token"], "0 is no share of the requests"],
      [["other", "10", "token"], "other is no version of"],
      [[version, "50", "token"], "serves all requests"],
    ] as const) {
      const refused = await elsewhere.deploy(["share", ...wrong, "--confirm", "production"]);
      expect([refused.code, refused.output]).toEqual([2, expect.stringContaining(why)]);
    }
    expect(script.deployments.length).toBe(deployed + 2);
  });

  test("the log of the Worker that has an endpoint, by its name", async () => {
    const script = shape === "compact" ? "op-state" : "op-token";
    const isTail = ({ path }: { readonly path: string }) => path.endsWith(`/workers/scripts/${script}/tails`);
    const { wasKilled } = await elsewhere.deployUntil(["tail", "token"], isTail);
    expect(wasKilled).toBe(true);
  });
});
