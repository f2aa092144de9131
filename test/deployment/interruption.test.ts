/**
 * **Deployments that are killed** after each kind of change in the account, without a response. Repeating the command converges. The tests share one
 * account; each continues where the previous one ended.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runningVersion } from "./local-cloudflare/account-state.ts";
import { LocalCloudflare, type RecordedCall } from "./local-cloudflare/local-cloudflare.ts";
import { changes, Operator } from "./operator.ts";

let local: LocalCloudflare;
let operator: Operator;
const compact = ["--environment", "small"] as const;
const key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

beforeAll(async () => {
  local = await LocalCloudflare.start();
  operator = new Operator(local);
});

afterAll(async () => {
  operator.cleanUp();
  await local.stop();
});

/** Each kind of change, by the call's path below the account and, for a query, its SQL. The first match counts. */
const kinds: readonly (readonly [string, RegExp, RegExp?])[] = [
  ["a database", /\/d1\/database$/],
  ["a database deleted", /\/d1\/database\/[^/]+$/],
  ["the list of migrations", /\/query$/, /CREATE TABLE[^;]*d1_migrations/i],
  ["a migration", /\/query$/, /d1_migrations/],
  ["the hashes of migrations", /\/query$/, /'migration:/],
  ["what was uploaded", /\/query$/, /'upload:/],
  ["the choices", /\/query$/, /'environment'/],
  ["the shape", /\/query$/, /'shape'/],
  ["the admin client", /\/query$/, /'admin_client'/],
  ["a temporary client", /\/query$/, /INSERT INTO clients/],
  ["no temporary client", /\/query$/, /DELETE FROM clients/],
  ["a namespace", /\/namespaces/],
  ["a queue", /\/queues$/],
  ["a queue without its consumer", /\/consumers\/[^/]+$/],
  ["a queue deleted", /\/queues\/[^/]+$/],
  ["the host of the front door", /\/domains\/records$/],
  ["a host or route deleted", /\/(?:domains|routes)\/[^/]+$/],
  ["op", /\/scripts\/op$/],
  ["an endpoint Worker", /\/scripts\/op-(?:token|management|userinfo|auth|console)$/],
  ["another Worker", /\/scripts\/[^/]+$/],
  ["a second upload", /\/(?:versions|deployments)$/],
  ["what follows an upload", /./],
];

function kindOf(call: RecordedCall): string | undefined {
  if (changes([call]).length === 0 || call.status !== 200 || call.path.endsWith("/changeset")) return undefined;
  const { sql = "" } = (call.body ?? {}) as { readonly sql?: string };
  return kinds.find(
    ([, path, statement]) => path.test(call.path) && (statement === undefined || statement.test(sql)),
  )?.[0];
}

/** Repeats a command, and kills it after each kind of change after which no earlier run was killed. */
async function runUntilDone(args: readonly string[], describeKind: typeof kindOf) {
  const killedAfter = new Set<string>();
  const outputs: string[] = [];
  for (;;) {
    const { wasKilled, code, output } = await operator.deployUntil(args, (call) => {
      const kind = describeKind(call);
      if (kind === undefined || killedAfter.has(kind)) return false;
      killedAfter.add(kind);
      return true;
    });
    outputs.push(output);
    if (!wasKilled) return { code, killedAfter: [...killedAfter], outputs };
  }
}

function keyOf(script: string): string | undefined {
  return runningVersion(local.account.scripts.get(script)!)?.bindings.find(({ name }) => name === "OP_MASTER_KEY")
    ?.text;
}

/** The distinct keys that runs have shown. */
function shownKeys(outputs: readonly string[]): string[] {
  return [...new Set(outputs.flatMap((output) => /OP_MASTER_KEY {2}(\S+)/.exec(output)?.[1] ?? []))];
}

describe("a killed command is continued by repeating it", () => {
  test("destroyed after its migrations were interrupted", async () => {
    const early = ["--environment", "early", "--issuer", "https://early.example.com", "--separate"];
    const killed = await operator.deployUntil(early, (call) => kindOf(call) === "a migration");
    expect(killed.wasKilled).toBe(true);
    const { code, output } = await operator.deploy(["destroy", "--environment", "early", "--confirm", "early"]);
    expect([code, output.match(/✗.*/g)]).toEqual([0, null]);
    expect([local.account.databases.size, local.account.queues.size, local.account.namespaces.size]).toEqual([0, 0, 0]);
  });

  test("a first deployment, after each kind of change", { timeout: 600_000 }, async () => {
    const { code, killedAfter, outputs } = await runUntilDone(
      [...compact, "--issuer", "https://small.example.com"],
      kindOf,
    );
    expect(killedAfter.slice(0, 8)).toEqual([
      ...["a database", "a namespace", "a queue", "the list of migrations", "a migration"],
      ...["the hashes of migrations", "the choices", "another Worker"],
    ]);
    expect(killedAfter).toEqual(
      expect.arrayContaining(["the host of the front door", "the shape", "the admin client"]),
    );
    expect([code, outputs.at(-1)!.match(/✗.*/g)]).toEqual([0, null]);
    expect(outputs.at(-1)).toContain(
      "Nothing changed: https://small.example.com runs this release with these settings.",
    );
    expect(shownKeys(outputs)).toEqual([keyOf("op-small-state")]);
    const status = await operator.deploy(["status", ...compact.slice(0, 2)]);
    expect(status.output).toContain("Nothing differs from the environment's file.");
  });

  test("a first deployment whose front door does not exist yet waits for nothing", { timeout: 600_000 }, async () => {
    const uploadOf = (call: RecordedCall) => {
      const kind = kindOf(call);
      return kind === "an endpoint Worker" || kind === "op" ? kind : undefined;
    };
    const { code, killedAfter, outputs } = await runUntilDone(
      ["--issuer", "https://op.example.com", "--separate"],
      uploadOf,
    );
    expect(killedAfter).toEqual(["an endpoint Worker", "op"]);
    expect([code, outputs.at(-1)!.match(/✗.*/g)]).toEqual([0, null]);
    expect(outputs.map((output) => output.match(/waiting for https.*/g))).toEqual([null, null, null]);
    expect(outputs[1]).toContain("not asked: https://op.example.com is not served yet");
    const keyed = ["op-state", "op-token", "op-management", "op-userinfo", "op-auth", "op-console"];
    expect(shownKeys(outputs)).toEqual([...new Set(keyed.map(keyOf))]);
  });

  test("a removed domain is reported at once, and created again without a wait", async () => {
    local.account.domains.delete("op.example.com");
    const status = await operator.deploy(["status"]);
    expect(status.code).toBe(3);
    expect(status.output).toContain("the custom domain op.example.com of op is missing");
    const secrets = await operator.deploy(["secrets"], { OP_MASTER_KEY: key });
    expect([secrets.code, changes(secrets.calls)]).toEqual([2, []]);
    expect(secrets.output).toContain("https://op.example.com is not served by this environment");
    const { code, output } = await operator.deploy(["--skip-verification"]);
    expect([code, output.match(/waiting for .*/g)]).toEqual([0, null]);
    expect(local.account.domains.get("op.example.com")?.service).toBe("op");
  });

  test("a destruction, after each kind of change", { timeout: 600_000 }, async () => {
    const { code, killedAfter, outputs } = await runUntilDone(["destroy", "--confirm", "production"], kindOf);
    expect([code, outputs.at(-1)!.match(/✗.*/g)]).toEqual([0, null]);
    expect(killedAfter).toEqual([
      ...["a host or route deleted", "a queue without its consumer", "a queue deleted", "op", "an endpoint Worker"],
      ...["another Worker", "a namespace", "a database deleted"],
    ]);
    const { scripts, databases, namespaces, queues, domains } = local.account;
    const left = [scripts, domains].flatMap((map) => [...map.keys()]);
    const stores = [...databases.values(), ...queues.values()].map(({ name }) => name);
    const titles = [...namespaces.values()].map(({ title }) => title);
    expect([...left, ...stores, ...titles].filter((name) => !name.includes("small"))).toEqual([]);
    expect(local.zones[0]!.routes).toEqual([]);
  });
});

describe("no file contains a given secret", () => {
  function filesWith(text: string): string[] {
    return readdirSync(operator.deployments, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter((path) => readFileSync(path, "utf8").includes(text));
  }

  test.each([
    ["a deployment", ["--workers-dev", "--environment", "given"], /\/workers\/scripts\/op-given-state$/],
    ["a replacement of secrets", ["secrets", "--environment", "given"], /\/secrets-bulk$/],
  ] as const)("%s that is killed while it sends them", async (_, args, path) => {
    const { wasKilled } = await operator.deployUntil(args, (call) => call.method !== "GET" && path.test(call.path), {
      OP_MASTER_KEY: key,
    });
    expect(wasKilled).toBe(true);
    expect(filesWith(key)).toEqual([]);
    const repeated = await operator.deploy(["--environment", "given", "--skip-verification"], { OP_MASTER_KEY: key });
    expect([repeated.code, repeated.output.includes(key)]).toEqual([0, false]);
  });
});

describe("a run that was killed while it had the lock", () => {
  const begin = () =>
    operator.deployUntil([...compact], ({ body }) =>
      JSON.stringify(body ?? "").includes("INSERT INTO deployment (name, value, set_at_ms) VALUES ('lock'"),
    );

  test("ends at once for its own folder; elsewhere it is named, until somebody ends it", async () => {
    const elsewhere = new Operator(local);
    elsewhere.write({ "small.json": { issuer: "https://small.example.com" } });
    expect((await begin()).wasKilled).toBe(true);
    const continued = await operator.deploy([...compact]);
    expect([continued.code, continued.output.match(/✗.*/g)]).toEqual([0, null]);
    expect((await begin()).wasKilled).toBe(true);
    const refused = await elsewhere.deploy([...compact]);
    expect([refused.code, changes(refused.calls)]).toEqual([2, []]);
    expect(refused.output).toMatch(/ on \S+ has been changing this environment since \d{4}-.*--take-over lock/);
    const agreed = await elsewhere.deploy([...compact, "--take-over", "lock"]);
    expect([agreed.code, agreed.output.match(/✗.*/g)]).toEqual([0, null]);
    expect((await operator.deploy([...compact])).code).toBe(0);
    elsewhere.cleanUp();
  }, 300_000);
});

describe("two concurrent first deployments", () => {
  /** The first run is held at this call, while the second one runs; then it goes on. */
  test.each([
    ["the database", /\/d1\/database$/, "op-racea", [1, 0], "was created since this run began"],
    ["its tables", /\/query$/, "CREATE TABLE IF NOT EXISTS first_run", [1, 0], "has made this environment since"],
    ["the last store", /\/queues$/, "op-racec-audit-dead", [0, 1], "has been changing this environment since"],
  ] as const)(
    "held before %s: one goes on, the other one says why, and uploads nothing",
    async (_, path, part, codes, why) => {
      const name = `race${"abc"[codes[0] === 0 ? 2 : part.startsWith("CREATE") ? 1 : 0]}`;
      const args = ["--workers-dev", "--environment", name, "--skip-verification"] as const;
      const other = new Operator(local);
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const { promise: held, resolve: hold } = Promise.withResolvers<void>();
      let isHeld = false;
      local.beforeCall = async ({ method, path: called, body }) => {
        if (isHeld || method !== "POST" || !path.test(called) || !JSON.stringify(body ?? "").includes(part)) return;
        isHeld = true;
        hold();
        await released;
      };
      const first = operator.deploy(args);
      await held;
      const second = await other.deploy(args);
      local.beforeCall = async () => undefined;
      release();
      const { code, output } = await first;
      const lost = codes[0] === 0 ? second.output : output;
      expect([code, second.code]).toEqual(codes);
      expect(lost).toContain(why);
      expect(lost).not.toMatch(/wrangler|please open an issue/);
      expect(shownKeys([second.output, output])).toEqual([keyOf(`op-${name}-state`)]);
      expect((await operator.deploy(args)).code).toBe(0);
      other.cleanUp();
    },
    300_000,
  );
});
