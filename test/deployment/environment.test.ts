import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { shapes, type WorkerName, workers } from "../../packages/edge-op/src/workers.ts";
import { checkEnvironment, type Environment, type EnvironmentFile } from "../../scripts/deploy/environment.ts";
import { checkNewEnvironment, loadEnvironment, writeEnvironment } from "../../scripts/deploy/environment-files.ts";
import { Refusal } from "../../scripts/deploy/refusal.ts";
import { readWorkerFile, storeNames, workerConfiguration } from "../../scripts/deploy/worker-configuration.ts";

/** The valid contents of an environment's file, and the configuration that is generated from it. */
const issuer = "https://op.example.com";

function environment(file: object = {}, name = "production"): Environment {
  const checked = checkEnvironment(name, { issuer, shape: "separate", ...file });
  if ("errors" in checked) throw new Refusal(checked.errors);
  return checked.environment;
}

function errorsOf(file: unknown): readonly string[] {
  const checked = checkEnvironment("production", file);
  return "errors" in checked ? checked.errors : [];
}

describe("an invalid file is refused", () => {
  test.each([
    ["http://op.example.com", "issuer must be https on a public host name"],
    ["http://localhost:8787", "issuer must be https on a public host name"],
    ["https://localhost", "issuer must be https on a public host name"],
    ["https://127.0.0.1", "issuer must be https on a public host name"],
    ["https://op.internal", "issuer must be https on a public host name"],
    ["https://op.example.com/", "issuer must be an origin without path and trailing slash"],
    [
      "https://op.example.com:443",
      'issuer must be an origin without path and trailing slash: "https://op.example.com"',
    ],
    ["https://OP.example.com", 'issuer must be an origin without path and trailing slash: "https://op.example.com"'],
    ["https://op.example.com.", "issuer must be https on a public host name"],
    ["https://op.example.com:8443", "issuer must have no port"],
    ["https://op.someone.workers.dev", "set workersDev: true instead"],
    ["op.example.com", "issuer must be an https origin"],
  ])("the issuer %s", (wrong, message) => {
    expect(errorsOf({ issuer: wrong })).toEqual([expect.stringContaining(message)]);
  });

  test("every fault at once, each with its name", () => {
    const settings = {
      LEASE_MS: 50,
      LOG_SAMPLING: 2,
      REFRESH_GRAC: 1,
      ISSUER: issuer,
      CPU_MS: "fast",
      BRAND_COLOR: "red",
    };
    expect(errorsOf({ issuer: "http://localhost", isuer: "x", prefix: "op-state", settings })).toEqual([
      expect.stringContaining("isuer is not known"),
      expect.stringContaining('prefix must not end with -state: "op-state"'),
      expect.stringContaining("issuer must be https"),
      'LEASE_MS must be a whole number from 100 to 10000, not "50"',
      'LOG_SAMPLING must be a number from 0 to 1, not "2"',
      "settings.REFRESH_GRAC is not known (docs/reference/settings.md)",
      "settings.ISSUER: the issuer is a member of its own",
      'CPU_MS must be a whole number from 500 to 300000, not "fast"',
      'BRAND_COLOR must be a colour like #1f5fd6, not "red"',
    ]);
  });

  test("an origin for certificates with a port, unless a proxy of its own serves it", () => {
    const MTLS_ORIGIN = "https://mtls.example.com:8443";
    expect(errorsOf({ issuer, settings: { MTLS_ORIGIN } })).toEqual([
      expect.stringContaining("settings.MTLS_ORIGIN must have no port"),
    ]);
    expect(errorsOf({ issuer, settings: { MTLS_ORIGIN, MTLS_PROXY_KEY_SHA256: "0".repeat(64) } })).toEqual([]);
  });

  test("a region outside the jurisdiction, a log without a destination, and no issuer at all", () => {
    expect(errorsOf({ issuer, settings: { JURISDICTION: "eu", REGION: "wnam" } })).toEqual([
      expect.stringContaining("REGION must be one of weur, eeur"),
    ]);
    expect(errorsOf({ issuer, settings: { LOG_STORE: false } })).toEqual(["LOG_STORE false needs LOG_DESTINATIONS"]);
    expect(errorsOf({})).toEqual([expect.stringContaining("issuer is missing")]);
  });
});

describe("environments in one account", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "edge-op-environments-"));
  });
  const defineEnvironment = async (name: string, file: EnvironmentFile) => {
    const made = await checkNewEnvironment(directory, name, file);
    writeEnvironment(directory, name, file);
    return made;
  };
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  test("the first deployment writes the file; it is typed, and reads back as intended", async () => {
    const made = await defineEnvironment("production", { issuer, settings: { REGION: "weur" } });
    expect(await loadEnvironment(directory, "production")).toEqual(made);
    expect(made).toMatchObject({ prefix: "op", region: "weur", variables: { REGION: "weur" } });
    expect(readFileSync(join(directory, "production.ts"), "utf8")).toContain("satisfies EnvironmentFile");
  });

  test("an undefined environment is refused, and the defined ones are listed", async () => {
    await defineEnvironment("production", { issuer });
    await expect(loadEnvironment(directory, "prodution")).rejects.toThrow(
      'The environment "prodution" is not defined; defined: production.',
    );
  });

  test("issuer, prefix and counters belong to one environment", async () => {
    await defineEnvironment("production", { issuer });
    const file = { issuer: "https://staging.example.com", prefix: "op", settings: { RATE_LIMIT_NAMESPACE: 7 } };
    await expect(defineEnvironment("staging", file)).rejects.toThrow(
      'The prefix "op" belongs to the environment "production"',
    );
    await expect(defineEnvironment("staging", { issuer })).rejects.toThrow("belongs to the environment");
    writeFileSync(join(directory, "staging.json"), JSON.stringify({ ...file, prefix: "op-staging" }));
    writeFileSync(
      join(directory, "test.json"),
      JSON.stringify({ ...file, prefix: "op-test", issuer: "https://t.example.com" }),
    );
    await expect(loadEnvironment(directory, "test")).rejects.toThrow(
      'RATE_LIMIT_NAMESPACE 7 belongs to the environment "staging"',
    );
  });

  test("an unreadable file is refused by name, also next to the deployed one", async () => {
    await defineEnvironment("production", { issuer });
    writeFileSync(join(directory, "staging.json"), "{issuer");
    for (const name of ["production", "staging"]) {
      await expect(loadEnvironment(directory, name)).rejects.toThrow(/staging\.json cannot be read: .*JSON/);
    }
    rmSync(join(directory, "staging.json"));
    writeFileSync(join(directory, "test.ts"), "export default {");
    await expect(loadEnvironment(directory, "test")).rejects.toThrow("test.ts cannot be read: ");
  });

  test("a binding that names a resource of another environment's prefix is refused", async () => {
    await defineEnvironment("staging", { issuer: "https://staging.example.com" });
    const file = { issuer, resources: { DB: "op-staging" } };
    await expect(defineEnvironment("production", file)).rejects.toThrow(
      'resources.DB: "op-staging" has the prefix of the environment "staging"',
    );
  });
});

const values = {
  account: "a".repeat(32),
  issuer,
  zone: "example.com",
  ids: { databases: { DB: "d1-id" }, namespaces: { CACHE: "kv-id" } },
  factsTokenHash: "hash",
};

describe("the generated configuration", () => {
  const configuration = (name: WorkerName, of = environment()) => workerConfiguration(name, of, values, "/generated");

  test("every member of every wrangler file is known, so that nothing is deployed with a local name", () => {
    for (const { name } of workers) expect(() => readWorkerFile(name), name).not.toThrow();
    const texts = JSON.stringify(workers.map(({ name }) => configuration(name)));
    expect(texts).not.toContain("edge-op-");
    expect(texts).not.toContain("0000-0000");
    expect(texts).not.toContain("localhost");
  });

  test("data points are written unless the environment's file says METRICS: none", () => {
    const datasets = [{ binding: "METRICS", dataset: "op_requests" }];
    expect(configuration("op-token")).toMatchObject({ analytics_engine_datasets: datasets });
    const without = environment({ resources: { METRICS: "none" } });
    expect(configuration("op-token", without)).toMatchObject({ analytics_engine_datasets: [] });
  });

  test.each(["separate", "compact"] as const)(
    "the Workers that call hooks are bound to that of the operator: %s",
    (shape) => {
      const bound = environment({
        ...{ shape, resources: { HOOKS: "my-hooks" } },
        settings: { ENABLED_HOOKS: "claims beforeSignIn" },
      });
      const services = (each: Environment) =>
        shapes[shape].flatMap(({ name }) => {
          const { services: all } = configuration(name, each) as {
            readonly services: readonly { readonly service: string }[];
          };
          return all.some(({ service }) => service === "my-hooks") ? [name] : [];
        });
      expect(services(bound)).toEqual(
        shape === "compact" ? ["op-compact"] : ["op-state", "op-token", "op-userinfo", "op-auth"],
      );
      expect(services(environment({ shape }))).toEqual([]);
    },
  );

  test("enabled hooks and the Worker that has them are named together", () => {
    const enabled = { issuer, settings: { ENABLED_HOOKS: "claims" } };
    expect(errorsOf(enabled)).toEqual(["resources.HOOKS must name the Worker whose hooks are enabled"]);
    const mail = { MAIL_PROVIDER: "hook", MAIL_FROM: "no-reply@mail.example.com" };
    expect(errorsOf({ issuer, settings: mail })).toHaveLength(1);
    expect(errorsOf({ issuer, resources: { HOOKS: "my-hooks" } })).toEqual([
      "settings.ENABLED_HOOKS must name the hooks of resources.HOOKS",
    ]);
    expect(errorsOf({ ...enabled, resources: { HOOKS: "my-hooks" } })).toEqual([]);
  });

  test("the Worker of the objects may send mail if MAIL_PROVIDER is cloudflare, and has the name and logo for it", () => {
    const settings = { MAIL_PROVIDER: "cloudflare", MAIL_FROM: "no-reply@mail.example.com", DISPLAY_NAME: "Acme" };
    const of = environment({ settings });
    expect(configuration("op-state", of)).toMatchObject({ send_email: [{ name: "EMAIL" }], vars: settings });
    expect(configuration("op-auth", of)).not.toHaveProperty("send_email");
    const resend = environment({ settings: { ...settings, MAIL_PROVIDER: "resend" } });
    expect(configuration("op-state", resend)).not.toHaveProperty("send_email");
    expect(() => environment({ settings: { MAIL_PROVIDER: "resend" } })).toThrow("MAIL_FROM must be a mail address");
  });

  test("op-state: deferred updates of 15 seconds, CPU, observability and versions are set deliberately", () => {
    expect(configuration("op-state")).toMatchObject({
      name: "op-state",
      workers_dev: false,
      preview_urls: false,
      limits: { cpu_ms: 30_000 },
      durable_objects: { code_update_strategy: { mode: "deferred", max_delay: 15 } },
      version_metadata: { binding: "VERSION" },
      observability: {
        enabled: true,
        redact_query_string: true,
        logs: { enabled: true, head_sampling_rate: 1, invocation_logs: false, persist: true },
        traces: { enabled: true, head_sampling_rate: 0.01 },
      },
    });
    const at = environment({
      settings: { OBJECT_UPDATE_DELAY: 0, CPU_MS: 5000, TRACE_SAMPLING: 0, LOG_DESTINATIONS: "otel" },
    });
    expect(configuration("op-state", at)["durable_objects"]).toMatchObject({
      code_update_strategy: { mode: "immediate" },
    });
    expect(configuration("op-auth", at)).toMatchObject({
      limits: { cpu_ms: 5000 },
      observability: { logs: { destinations: ["otel"] }, traces: { enabled: false } },
    });
    // Objects of another Worker have no strategy here, because wrangler refuses one.
    expect(configuration("op-auth", at)["durable_objects"]).not.toHaveProperty("code_update_strategy");
  });

  test.each([...shapes.separate, ...shapes.compact].map(({ name }) => name))(
    "%s runs near its stores only if its pages call them often",
    (name) => {
      const placement = name === "op-auth" ? { mode: "smart" } : undefined;
      const shape = name === "op-compact" ? "compact" : "separate";
      expect(configuration(name, environment({ shape }))["placement"]).toEqual(placement);
    },
  );

  test("on your own zone, each endpoint Worker has its paths, and the front door the host", () => {
    const patterns = (name: (typeof workers)[number]["name"]) =>
      (configuration(name)["routes"] as { pattern: string }[] | undefined)?.map(({ pattern }) => pattern);
    expect(configuration("op")["routes"]).toEqual([{ pattern: "op.example.com", custom_domain: true }]);
    expect(configuration("op-token")["routes"]).toEqual([
      { pattern: "op.example.com/token*", zone_name: "example.com" },
    ]);
    expect(patterns("op-management")).toEqual([
      "op.example.com/introspect*",
      "op.example.com/revoke*",
      "op.example.com/ready*",
      "op.example.com/mail/events*",
      "op.example.com/admin*",
      "op.example.com/organizations*",
      "op.example.com/register*",
      "op.example.com/scim*",
    ]);
    expect(patterns("op-auth")).toHaveLength(10);
    expect(patterns("op-state")).toBeUndefined();
  });

  test("with workers.dev only the front door has an address", () => {
    const checked = checkEnvironment("production", { workersDev: true, shape: "separate" });
    if ("errors" in checked) throw new Refusal(checked.errors);
    const open = workers.filter(({ name }) => configuration(name, checked.environment)["workers_dev"] === true);
    expect(open.map(({ name }) => name)).toEqual(["op"]);
    expect(workers.flatMap(({ name }) => configuration(name, checked.environment)["routes"] ?? [])).toEqual([]);
  });

  test("another environment shares no Worker, store, queue or counter with production", () => {
    const staging = environment({ issuer: "https://staging.example.com" }, "staging");
    const namesIn = (of: Environment) =>
      workers.flatMap(({ name }) => {
        const config = configuration(name, of) as {
          name: string;
          services: { service: string }[];
          durable_objects: { bindings: { script_name?: string }[] };
          ratelimits: { namespace_id: string }[];
          queues: { producers: { queue: string }[]; consumers: { queue: string; dead_letter_queue: string }[] };
        };
        return [
          config.name,
          ...config.services.map(({ service }) => service),
          ...config.durable_objects.bindings.flatMap(({ script_name }) => script_name ?? []),
          ...config.ratelimits.map(({ namespace_id }) => namespace_id),
          ...config.queues.producers.map(({ queue }) => queue),
          ...config.queues.consumers.flatMap(({ queue, dead_letter_queue: dead }) => [queue, dead]),
        ];
      });
    const production = new Set([...namesIn(environment()), ...Object.values(storeNames(environment()).databases)]);
    expect(production.size).toBeGreaterThan(10);
    expect(
      [...namesIn(staging), ...Object.values(storeNames(staging).databases)].filter((name) => production.has(name)),
    ).toEqual([]);
  });

  test("settings of the file become variables: those of every Worker, and those of op-auth alone", () => {
    const of = environment({ settings: { REVOCATION_MODE: "direct", SESSION_IDLE: 600, SERVER_TIMING: true } });
    expect(configuration("op-token", of)["vars"]).toEqual({
      ISSUER: issuer,
      REVOCATION_MODE: "direct",
      SERVER_TIMING: "true",
      DEPLOYMENT_ENVIRONMENT: "production",
      FACTS_TOKEN_SHA256: "hash",
    });
    expect(configuration("op-auth", of)["vars"]).toMatchObject({ SESSION_IDLE: "600", REVOCATION_MODE: "direct" });
  });

  test("rate limits are those of the settings, in counters of the environment", () => {
    const of = environment({ settings: { ADDRESS_RATE_LIMIT: "50000/60", RATE_LIMIT_NAMESPACE: 12 } });
    expect(configuration("op-auth", of)["ratelimits"]).toEqual([
      { name: "CLIENT_RATE_LIMIT", namespace_id: "12001", simple: { limit: 100_000, period: 10 } },
      { name: "FAILED_AUTHENTICATION_RATE_LIMIT", namespace_id: "12002", simple: { limit: 200, period: 10 } },
      { name: "ADDRESS_RATE_LIMIT", namespace_id: "12004", simple: { limit: 50_000, period: 60 } },
    ]);
  });
});
