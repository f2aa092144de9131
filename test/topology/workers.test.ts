import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile, PluginBuild } from "esbuild";
import { expect, test } from "vitest";
import { unstable_readConfig as readConfig } from "wrangler";
import { bundleModules, bundleWorker, modulesAtStart } from "../../packages/edge-op/src/bundle-worker.ts";
import { sourceBuilds } from "../../packages/edge-op/src/source-builds.ts";
import { compactWorker, repositoryRoot, type WorkerName, workers } from "../../packages/edge-op/src/workers.ts";

/** The parts of a deployment, compared across the wrangler files. */
interface WranglerConfig {
  readonly compatibility_flags?: readonly string[];
  readonly vars: Readonly<Record<string, unknown>>;
  readonly services?: readonly { readonly binding: string; readonly service: string }[];
  readonly version_metadata?: { readonly binding: string } | undefined;
  readonly triggers?: { readonly crons?: readonly string[] | undefined };
  readonly ratelimits?: readonly { readonly name: string }[];
  readonly d1_databases: readonly { readonly binding: string; readonly database_id: string }[];
  readonly kv_namespaces: readonly { readonly binding: string; readonly id: string }[];
  readonly queues: {
    readonly producers?: readonly { readonly binding: string; readonly queue: string }[];
    readonly consumers?: readonly { readonly queue: string }[];
  };
  readonly durable_objects: {
    readonly bindings: readonly { readonly name: string; readonly class_name: string; readonly script_name?: string }[];
  };
  readonly migrations: readonly { readonly new_sqlite_classes?: readonly string[] }[];
}

const bundles = new Map<string, Promise<string>>();

function bundleOf(entry: string): Promise<string> {
  const bundle = bundles.get(entry) ?? bundleWorker(entry, { sourcemap: false });
  bundles.set(entry, bundle);
  return bundle;
}

const allWorkers = [...workers, compactWorker];
const configs = allWorkers.map(({ name, config }) => ({
  name,
  config: readConfig({ config: join(repositoryRoot, config) }) as WranglerConfig,
}));
const separate = configs.filter(({ name }) => name !== compactWorker.name);
const compact = configs.find(({ name }) => name === compactWorker.name)!.config;

test("deployment is a line: each Worker binds only those deployed before it", () => {
  const wrong = separate.flatMap(({ name, config }, index) => {
    const before = new Set<string>(workers.slice(0, index).map((worker) => worker.name));
    const bound = [
      ...config.durable_objects.bindings.map((binding) => binding.script_name ?? name),
      ...(config.services ?? []).map(({ service }) => service),
    ];
    return bound.filter((target) => target !== name && !before.has(target)).map((target) => `${name} binds ${target}`);
  });
  expect(wrong).toEqual([]);
});

test("a Worker reads every binding that it has", async () => {
  const unread = await Promise.all(
    configs.map(async ({ name, config }, index) => {
      const bindings = [
        // Without a script name, it is a class of the Worker itself, which its tests address.
        ...config.durable_objects.bindings.flatMap((binding) => (binding.script_name ? [binding.name] : [])),
        ...(config.ratelimits ?? []).map((limit) => limit.name),
        ...[...config.d1_databases, ...config.kv_namespaces].map(({ binding }) => binding),
        ...[...(config.services ?? []), ...(config.queues.producers ?? [])].map(({ binding }) => binding),
      ];
      expect(bindings.length, name).toBeGreaterThan(0);
      const bundle = await bundleOf(allWorkers[index]!.entry);
      return bindings
        .filter((binding) => !new RegExp(`\\b${binding}\\b`).test(bundle))
        .map((each) => `${name}: ${each}`);
    }),
  );
  expect(unread.flat()).toEqual([]);
});

test("a fetch of any Worker passes the protections of its own zone", () => {
  for (const { name, config } of configs) {
    expect(config.compatibility_flags, name).toEqual(["global_fetch_strictly_public", "new_module_registry"]);
  }
});

/** The files of this repository that a bundle contains. */
function filesIn(bundle: string): string[] {
  const comments = bundle.matchAll(/^\/\/ (?:\.\.\/)*((?:examples|load-tests|packages|scripts|test)\/\S+)$/gm);
  return [...comments].map(([, path]) => path!);
}

/** The files of this repository that an inline source map names. */
function sourcesOf(module: string): string[] {
  const [, encoded = ""] = /\/\/# sourceMappingURL=data:application\/json;base64,(\S+)/.exec(module) ?? [];
  const { sources } = JSON.parse(Buffer.from(encoded, "base64").toString()) as { readonly sources: readonly string[] };
  return sources.filter((path) => !path.includes("node_modules"));
}

/** Texts of the development pages, of the clock and faults of test instances, and of the demo, whatever file contains a copy of them. */
const developmentTexts = [
  "/dev/refusals",
  "/dev/explanation",
  "aheadMs",
  "isCrossing",
  "unavailable by order of a test",
  "correct horse battery staple",
];

test("no bundle that can be deployed contains development code: clocks that move, stores that fail, pages of /dev, the demo", async () => {
  const deployable = new Set([...allWorkers.map(({ name }) => name), "pages", "protocol", "shared", "workers"]);
  const isDeployable = (path: string) => path.startsWith("packages/") && deployable.has(path.split("/")[1]!);
  for (const { name, entry, config } of allWorkers) {
    const bundle = await bundleOf(entry);
    const files = filesIn(bundle);
    // This entry is deployed: generated configurations are made from the wrangler files.
    expect(readConfig({ config: join(repositoryRoot, config) }).main).toBe(join(repositoryRoot, entry));
    expect(files, name).toContain(entry);
    expect(
      developmentTexts.filter((text) => bundle.includes(text)),
      name,
    ).toEqual([]);
    expect(
      files.filter((path) => !isDeployable(path)),
      name,
    ).toEqual([]);
  }
  const development = ["packages/edge-op/src", "packages/edge-op/testing", "examples/application/src"]
    .flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: repositoryRoot }))
    .map((path) => readFileSync(join(repositoryRoot, path), "utf8"));
  for (const text of developmentTexts)
    expect(
      development.some((source) => source.includes(text)),
      text,
    ).toBe(true);
  const { modules } = await sourceBuilds.instances();
  const files = modules.flatMap(({ contents }) => sourcesOf(contents));
  expect(files.filter((path) => !isDeployable(path))).toEqual(
    expect.arrayContaining(
      ["movable-clock", "failing-stores"].map((name) => `packages/edge-op/testing/instances/${name}.ts`),
    ),
  );
  expect(files).not.toContain("packages/shared/src/runtime/clock.ts");
});

/** Bindings by kind and name, with the settings that must not differ. */
function bindingsOf(config: WranglerConfig): string[] {
  const { d1_databases, kv_namespaces, queues, durable_objects, ratelimits = [], triggers, vars } = config;
  return [
    `version ${config.version_metadata?.binding}`,
    ...Object.entries(vars).map((variable) => `variable ${variable.join("=")}`),
    ...d1_databases.map(({ binding, database_id }) => `D1 ${binding} ${database_id}`),
    ...kv_namespaces.map(({ binding, id }) => `KV ${binding} ${id}`),
    ...(queues.producers ?? []).map(({ binding, queue }) => `queue ${binding} ${queue}`),
    ...(queues.consumers ?? []).map((consumer) => `consumer ${JSON.stringify(consumer)}`),
    ...durable_objects.bindings.map(({ name, class_name }) => `object ${name} ${class_name}`),
    ...ratelimits.map(({ name }) => `rate limit ${name}`),
    ...(triggers?.crons ?? []).map((cron) => `cron ${cron}`),
  ];
}

test("the compact Worker has the bindings of all separate Workers, and calls no other Worker", () => {
  expect([...new Set(bindingsOf(compact))].toSorted()).toEqual(
    [...new Set(separate.flatMap(({ config }) => bindingsOf(config)))].toSorted(),
  );
  expect(compact.services ?? []).toEqual([]);
  expect(compact.durable_objects.bindings.filter(({ script_name }) => script_name !== undefined)).toEqual([]);
});

test("op-state and the compact Worker may be deployed over each other: the same migrations of the same classes", () => {
  const state = separate.find(({ name }) => name === "op-state")!.config;
  expect(compact.migrations).toEqual(state.migrations);
});

test("no secret is in a wrangler file, and every object class is SQLite-backed", () => {
  for (const { config, name } of configs) {
    expect(
      Object.keys(config.vars).filter((variable) => /KEY|SECRET|TOKEN$/.test(variable)),
      name,
    ).toEqual([]);
    const migrated = new Set(config.migrations.flatMap(({ new_sqlite_classes }) => new_sqlite_classes ?? []));
    const own = config.durable_objects.bindings.filter(({ script_name }) => script_name === undefined);
    expect(
      own.map(({ class_name }) => class_name).filter((className) => !migrated.has(className)),
      name,
    ).toEqual([]);
  }
});

/** Bytes that an isolate of each Worker parses and evaluates before its first request. What is larger is loaded on first use. */
const bytesAtStart: Readonly<Record<WorkerName, number>> = {
  "op-state": 2_600,
  "op-token": 290_000,
  "op-management": 258_000,
  "op-userinfo": 198_000,
  "op-auth": 615_000,
  "op-console": 284_000,
  op: 131_000,
  "op-compact": 274_000,
};

test.each(allWorkers)("a start of $name evaluates no more than it did", async ({ name, entry }) => {
  const modules = modulesAtStart(await bundleModules(entry, { sourcemap: false }));
  const bytes = modules.reduce((sum, { contents }) => sum + contents.length, 0);
  expect(bytes).toBeLessThan(bytesAtStart[name]);
  expect(bytes, "lower the bound to what it is now").toBeGreaterThan(bytesAtStart[name] * 0.9);
});

/** The bytes that an isolate of the compact Worker has evaluated for its first request, and one of op-state for its first object. */
const bytesOfFirstUses = {
  "op-compact": {
    "packages/op-compact/src/index.ts": 274_000,
    "packages/op-token/src/app.ts": 362_000,
    "packages/op-management/src/worker.ts": 325_000,
    "packages/op-userinfo/src/app.ts": 285_000,
    "packages/op-auth/src/app.ts": 672_000,
  },
  "op-state": {
    "packages/op-state/src/revocation/token-revocation-store.ts": 117_000,
    "packages/op-state/src/relay/revocation-relay.ts": 83_000,
    "packages/op-state/src/refresh/refresh-token-rotator.ts": 102_000,
    "packages/op-state/src/keys/key-manager.ts": 112_000,
    "packages/op-state/src/codes/authorization-code-store.ts": 100_000,
    "packages/op-state/src/sessions/session-store.ts": 147_000,
    "packages/op-state/src/challenges/challenge-store.ts": 19_000,
    "packages/op-state/src/mail/mail-sender.ts": 96_000,
    "packages/op-state/src/control/control-plane.ts": 165_000,
  },
} as const;

test.each(["op-compact", "op-state"] as const)("a first use of %s evaluates no more than it did", async (worker) => {
  const { entry } = allWorkers.find(({ name }) => name === worker)!;
  let outputs: Metafile["outputs"] = {};
  const readOutputs = {
    name: "read-outputs",
    setup: ({ onEnd }: PluginBuild) => {
      onEnd(({ metafile }) => {
        outputs = metafile!.outputs;
      });
    },
  };
  await bundleModules(entry, { sourcemap: false, metafile: true, plugins: [readOutputs] });
  const outputOf = (source: string) => Object.keys(outputs).find((path) => outputs[path]!.entryPoint === source)!;
  for (const [source, bound] of Object.entries(bytesOfFirstUses[worker])) {
    const evaluated = new Set([entry, source].map(outputOf));
    // A set is iterated in the order of insertion, with what is added meanwhile.
    for (const output of evaluated) {
      for (const { kind, path } of outputs[output]!.imports) {
        if (kind === "import-statement" && path in outputs) evaluated.add(path);
      }
    }
    const bytes = [...evaluated].reduce((sum, output) => sum + outputs[output]!.bytes, 0);
    expect.soft(bytes, source).toBeLessThan(bound);
    expect.soft(bytes, `${source}: lower the bound to what it is now`).toBeGreaterThan(bound * 0.9);
  }
});
