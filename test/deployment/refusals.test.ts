import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { keyFingerprint } from "../../packages/shared/src/secrets/deployment-facts.ts";
import { checkEnvironment, type EnvironmentFile } from "../../scripts/deploy/environment.ts";
import { ownMigrations } from "../../scripts/deploy/migrations.ts";
import { permissionFor } from "../../scripts/deploy/permissions.ts";
import { Refusal } from "../../scripts/deploy/refusal.ts";
import { whyLocked } from "../../scripts/deploy/run-lock.ts";
import { openSession, refuseConflicts } from "../../scripts/deploy/session.ts";
import { keptDirectory } from "../compatibility/previous-release.ts";
import type { Script } from "./local-cloudflare/account-state.ts";
import { LocalCloudflare, type LocalCloudflareOptions } from "./local-cloudflare/local-cloudflare.ts";
import { changes } from "./operator.ts";

/** Existing resources of an account that conflict with a deployment: refused after reads only, unless the operator agreed. */
const key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
let local: LocalCloudflare;
let directory: string;

async function start(options: LocalCloudflareOptions = {}): Promise<void> {
  await local?.stop();
  local = await LocalCloudflare.start(options);
  vi.stubEnv("CLOUDFLARE_API_BASE_URL", local.apiUrl);
  vi.stubEnv("CLOUDFLARE_API_TOKEN", local.token);
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "edge-op-generated-"));
  await start();
});

afterEach(async () => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true, force: true });
  await local.stop();
});

async function refusal(file: EnvironmentFile = {}, account?: string): Promise<readonly string[]> {
  const checked = checkEnvironment("production", {
    shape: "separate",
    ...(file.workersDev ? {} : { issuer: "https://op.example.com" }),
    ...file,
  });
  if ("errors" in checked) throw new Refusal(checked.errors);
  try {
    const options = { account, origin: undefined, verbose: false };
    refuseConflicts(await openSession(checked.environment, directory, options), { migrates: true });
    return [];
  } catch (error) {
    if (error instanceof Refusal) return error.reasons;
    throw error;
  } finally {
    expect(changes(local.calls)).toEqual([]);
  }
}

function addScript(name: string, variables: Readonly<Record<string, string>> = {}): void {
  const bindings = Object.entries(variables).map(([variable, text]) => ({ name: variable, type: "plain_text", text }));
  const version = { id: "v", metadata: { compatibility_date: "2026-10-20" }, modules: [], bindings };
  const script: Script = {
    name,
    migrationTag: undefined,
    subdomainEnabled: false,
    port: 0,
    versions: [version],
    deployments: [{ id: "d", versionId: "v", codeUpdateStrategy: undefined, versions: [] }],
    crons: [],
    settings: {},
  };
  local.account.scripts.set(name, script);
}

async function addDatabase(name: string, sql: string): Promise<void> {
  const uuid = crypto.randomUUID();
  local.account.databases.set(uuid, { uuid, name, place: {} });
  local.workers.change();
  await local.workers.query(uuid, sql, []);
}

describe("accounts", () => {
  test("an empty account with the zone is accepted", async () => {
    expect(await refusal()).toEqual([]);
  });

  test("a token for several accounts: they are listed, and --account chooses, by id or name", async () => {
    await start({ accounts: ["Example", "Other"] });
    const reasons = await refusal();
    expect(reasons[0]).toContain("Choose one with --account <id>");
    expect(reasons.slice(1)).toEqual([`  ${local.accounts[0]!.id}  Example`, `  ${local.accounts[1]!.id}  Other`]);
    expect(await refusal({}, local.account.id)).toEqual([]);
    expect(await refusal({}, "Example")).toEqual([]);
    expect((await refusal({}, "None"))[0]).toContain('cannot use the account "None"');
  });

  test("a wrong token, a missing zone, and an account without workers.dev", async () => {
    vi.stubEnv("CLOUDFLARE_API_TOKEN", "wrong");
    expect((await refusal())[0]).toContain("Cloudflare refuses the token");
    vi.stubEnv("CLOUDFLARE_API_TOKEN", local.token);
    expect((await refusal({ issuer: "https://op.example.org" }))[0]).toContain("No zone of op.example.org");
    expect((await refusal({ issuer: "https://op.example.com", zone: "example.net" }))[0]).toContain(
      "No zone of example.net",
    );
    local.account.subdomain = undefined;
    expect((await refusal({ workersDev: true }))[0]).toContain("no workers.dev subdomain");
  });
});

describe("nothing is taken over without agreement", () => {
  async function expectTakeOver(what: string, reason: string): Promise<void> {
    expect(await refusal()).toEqual([expect.stringContaining(reason)]);
    expect((await refusal())[0]).toContain(`--take-over ${what}`);
    expect(await refusal({ takeOver: [what] })).toEqual([]);
  }

  test("a DNS record of the host", async () => {
    local.zones[0]!.dnsRecords.push({ type: "A", name: "op.example.com", content: "192.0.2.1" });
    await expectTakeOver("dns:op.example.com", "op.example.com has DNS records (A 192.0.2.1)");
  });

  test("a custom domain of another Worker", async () => {
    local.account.domains.set("op.example.com", {
      id: "x",
      hostname: "op.example.com",
      service: "blog",
      zoneId: local.zones[0]!.id,
    });
    await expectTakeOver("domain:op.example.com", 'the custom domain of the Worker "blog"');
  });

  test("a route of another Worker on the host", async () => {
    local.zones[0]!.routes.push({ id: "r", pattern: "op.example.com/*", script: "blog" });
    await expectTakeOver("route:op.example.com/*", "The route op.example.com/* (blog) exists");
  });

  test("a queue with another consumer", async () => {
    const consumer = { id: "c", script: "blog", settings: {}, deadLetters: undefined };
    local.account.queues.set("q", { id: "q", name: "op-audit", consumers: [consumer] });
    await expectTakeOver("queue:op-audit", 'The queue "op-audit" has the consumer "blog"');
  });

  test("a Worker with the same name, unmarked or of another environment", async () => {
    addScript("op");
    await expectTakeOver("worker:op", 'The Worker "op" exists and was not deployed by this command');
    addScript("op", { DEPLOYMENT_ENVIRONMENT: "staging" });
    await expectTakeOver("worker:op", 'belongs to the environment "staging"');
  });

  test("a database with other tables, and a resource outside the prefix", async () => {
    await addDatabase("op", "CREATE TABLE notes (id INTEGER PRIMARY KEY)");
    await expectTakeOver("d1:op", 'The database "op" exists and has tables');
    const file = { resources: { CACHE: "shared" }, takeOver: ["d1:op"] };
    expect(await refusal(file)).toEqual([expect.stringContaining("--take-over name:shared")]);
  });
});

describe("the migrations of a database are those of this checkout", () => {
  const own = ownMigrations().filter(({ binding }) => binding === "DB");
  const [first, second, third] = own;
  const list = "CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY, name TEXT)";
  const applied = (...names: string[]) => names.map((name) => `INSERT INTO d1_migrations (name) VALUES ('${name}')`);
  const deployed = ["environment", "admin_client"].map(
    (name) => `INSERT INTO deployment VALUES ('${name}', '${name === "environment" ? "production" : "admin"}', 0)`,
  );
  const hashes = (values: Readonly<Record<string, string>>) =>
    Object.entries(values).map(
      ([name, hash]) => `INSERT INTO deployment VALUES ('migration:DB:${name}', '${hash}', 0)`,
    );

  async function refused(database: readonly string[], takeOver: readonly string[] = []) {
    vi.stubEnv("OP_MASTER_KEY", key);
    await addDatabase("op", [list, ...database, ...deployed].join(";\n"));
    addScript("op", { DEPLOYMENT_ENVIRONMENT: "production" });
    return refusal({ takeOver });
  }

  test.each([
    ["none is applied twice", [first!.sql, ...applied(first!.name)], { [first!.name]: first!.hash }, undefined],
    ["0.1.0 recorded none", [first!.sql, ...applied(first!.name)], {}, undefined],
    [
      "a changed one",
      [first!.sql, ...applied(first!.name)],
      { [first!.name]: "another" },
      `The migration ${first!.name} of the database "op" was another one when it was applied. Restore migrations/${first!.name}`,
    ],
    [
      "a missing one",
      [first!.sql, second!.sql, third!.sql, ...applied(first!.name, third!.name)],
      { [first!.name]: first!.hash, [third!.name]: third!.hash },
      `The database "op" lacks the migration ${second!.name}, and has ${third!.name}`,
    ],
    [
      "an unknown one",
      [first!.sql, ...applied(first!.name, "0999_later.sql")],
      { [first!.name]: first!.hash },
      'The database "op" has the migrations 0999_later.sql, which this checkout does not have',
    ],
    [
      "one that was edited before the first release, and not recorded",
      [first!.sql.replace("  lost       TEXT    NOT NULL,", ""), ...applied(first!.name)],
      {},
      'The database "op" was made by sources from before 0.1.0: held_records differ from what 0001_schema.sql makes',
    ],
  ])("%s", async (_, statements, recorded, reason) => {
    expect(await refused([...statements, ...hashes(recorded)])).toEqual(
      reason === undefined ? [] : [expect.stringContaining(reason)],
    );
  });

  test("an older release on newer tables runs if the operator agrees", async () => {
    const newer = [first!.sql, ...applied(first!.name, "0999_later.sql"), ...hashes({ [first!.name]: first!.hash })];
    expect(await refused(newer, ["migrations:op"])).toEqual([]);
  });

  test("a released migration never changes", () => {
    const kept = JSON.parse(readFileSync(join(keptDirectory, "release.json"), "utf8")) as {
      readonly migrations: Readonly<Record<string, string>>;
    };
    const current = Object.fromEntries(ownMigrations().map(({ path, hash }) => [path, hash]));
    expect(Object.keys(kept.migrations).length).toBeGreaterThanOrEqual(2);
    expect(current).toMatchObject(kept.migrations);
  });
});

describe("the permission that a token lacks is named", () => {
  test.each([
    ["/workers/scripts", "Account › Workers Scripts: Edit"],
    ["/d1/database", "Account › D1: Edit"],
    ["/storage/kv/namespaces", "Account › Workers KV Storage: Edit"],
    ["/queues", "Account › Queues: Edit"],
    ["/r2/buckets", "Account › Workers R2 Storage: Edit"],
    ["/zones", "Zone › Zone: Read"],
    ["/dns_records", "Zone › DNS: Read"],
    ["/workers/routes", "Zone › Workers Routes: Edit"],
    ["/workers/domains", "Account › Workers Scripts: Edit, and Zone › Workers Routes: Edit"],
  ])("a refused read of %s, before anything is changed", async (path, permission) => {
    local.failOnce("GET", new RegExp(`${path}$`));
    expect(await refusal({ resources: { BACKUP: "op-backup" } })).toEqual([
      expect.stringMatching(new RegExp(`Authentication error.*The token lacks the permission ${permission} `)),
    ]);
  });

  test("each call of a first deployment and of an upgrade has one", () => {
    const golden = ["first-deployment", "upgrade"].map((name) =>
      readFileSync(join(import.meta.dirname, `golden/${name}.txt`), "utf8"),
    );
    const paths = golden.join().match(/(?<= (?:GET|PUT|POST|PATCH|DELETE) )\/[^ ?]+/g) ?? [];
    const known = new Set(paths.map((path) => path.replaceAll(/[{}]/g, "")));
    expect(known.size).toBeGreaterThan(20);
    expect([...known].filter((path) => permissionFor(path) === undefined)).toEqual([]);
  });
});

describe("one run at a time", () => {
  const sinceMs = Date.UTC(2026, 10, 27, 2, 31);
  const lock = { id: "first", by: "maria on laptop", sinceMs, untilMs: sinceMs + 1_800_000 };
  const own = { deadId: undefined, isAgreed: false, nowMs: sinceMs + 60_000 };

  test.each([
    ["nobody has it", undefined, own, true],
    ["another run has it", lock, own, false],
    ["it has ended by itself", lock, { ...own, nowMs: lock.untilMs }, true],
    ["it is that of a run of this folder that was killed", lock, { ...own, deadId: "first" }, true],
    ["another run of this folder was killed", lock, { ...own, deadId: "second" }, false],
    ["the operator agrees", lock, { ...own, isAgreed: true }, true],
  ])("%s", (_, found, mine, isFree) => {
    expect(whyLocked(found, mine)).toEqual(
      isFree
        ? undefined
        : "maria on laptop has been changing this environment since 2026-11-27T02:31:00Z. Wait until that run has ended. If its machine is gone: the lock ends at 2026-11-27T03:01:00Z, or now with --take-over lock",
    );
  });
});

describe("the choices of a deployment stay", () => {
  const record = async (values: Readonly<Record<string, string>>) => {
    const rows = Object.entries(values).map(
      ([name, value]) => `INSERT INTO deployment VALUES ('${name}', '${value}', 0)`,
    );
    await addDatabase(
      "op",
      ["CREATE TABLE deployment (name TEXT, value TEXT, set_at_ms INTEGER)", ...rows].join(";\n"),
    );
  };
  const chosen = { environment: "production", issuer: "https://op.example.com", jurisdiction: "none", region: "wnam" };

  test("another environment, issuer, jurisdiction or region, all at once", async () => {
    await record({
      environment: "staging",
      issuer: "https://old.example.com",
      jurisdiction: "eu",
      region: "weur",
      key_fingerprint: "f",
      admin_client: "admin",
    });
    vi.stubEnv("OP_MASTER_KEY", "");
    const reasons = await refusal();
    expect(reasons.slice(0, 4)).toEqual([
      expect.stringContaining("The environment of this deployment is staging and cannot become production"),
      expect.stringContaining("The issuer of this deployment is https://old.example.com"),
      expect.stringContaining("The jurisdiction of this deployment is eu"),
      expect.stringContaining("The region of this deployment is weur"),
    ]);
  });

  test("a changed secret is refused; the same one, or none, is accepted", async () => {
    const names = ["op-state", "op-token", "op-management", "op-userinfo", "op-auth", "op-console", "op"];
    for (const name of names) addScript(name, { DEPLOYMENT_ENVIRONMENT: "production" });
    await record({ ...chosen, key_fingerprint: (await keyFingerprint(key))!, admin_client: "admin" });
    expect(await refusal()).toEqual([]);
    vi.stubEnv("OP_MASTER_KEY", key);
    expect(await refusal()).toEqual([]);
    vi.stubEnv("OP_MASTER_KEY", `B${key.slice(1)}`);
    expect(await refusal()).toEqual([expect.stringContaining("OP_MASTER_KEY has changed")]);
    vi.stubEnv("OP_MASTER_KEY", "short");
    expect(await refusal()).toEqual(["OP_MASTER_KEY must be 32 bytes, base64url without padding."]);
  });

  test("a Worker that a release adds needs the deployment's key, which is never created again", async () => {
    addScript("op-state", { DEPLOYMENT_ENVIRONMENT: "production" });
    const fingerprint = (await keyFingerprint(key))!;
    await record({ ...chosen, key_fingerprint: fingerprint, admin_client: "admin" });
    expect(await refusal()).toEqual([
      expect.stringContaining(`must be given the deployment's OP_MASTER_KEY (fingerprint ${fingerprint})`),
    ]);
    vi.stubEnv("OP_MASTER_KEY", key);
    expect(await refusal()).toEqual([]);
  });

  test("Workers without their database, and a first deployment without its created secrets", async () => {
    addScript("op-state", { DEPLOYMENT_ENVIRONMENT: "production" });
    expect(await refusal()).toEqual([
      expect.stringContaining("A new OP_MASTER_KEY is never made over an existing deployment"),
    ]);
    local.account.scripts.clear();
    await record({ ...chosen, key_fingerprint: "abc" });
    expect(await refusal()).toEqual([expect.stringContaining("set OP_MASTER_KEY to the key with the fingerprint abc")]);
  });
});
