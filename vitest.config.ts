import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { buildSync } from "esbuild";
import type { V4WorkerOptionsShape } from "miniflare";
import { defineConfig } from "vitest/config";
import { unstable_getMiniflareWorkerOptions as readWorkerOptions } from "wrangler";
import { boundElsewhere } from "./packages/edge-op/src/workers.ts";
import { findChromium } from "./test/browser/find-chromium.ts";

/**
 * One project per package, each in real workerd with real crypto and storage. The objects of op-state run next to the Worker under test as an
 * auxiliary Worker, except in op-state's own project, whose tests may evict objects and run alarms. The project conformance runs in Node, over HTTP,
 * against all Workers as they are deployed.
 */
const root = `${import.meta.dirname}/`;
const compatibilityDate = "2026-10-20";
const compatibilityFlags = ["global_fetch_strictly_public"];
const testMasterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const endpointWorkers = ["op-token", "op-management", "op-userinfo", "op-auth"];
/**
 * `npm test` leaves these out, so that it takes ten minutes on two cores; `npm test -- --all`, which CI runs, and any filter that names one run
 * them. Each takes more than 30 seconds: a deployment interrupted after every call, every load scenario, an isolate filled to its limits, the pages
 * of rarer flows in a browser.
 */
const longFiles = [
  "load-tests/test/{smoke,broken-provider,capacity-model}.test.ts",
  "test/browser/{second-factors,upstream,recovery,sign-up,requests,console,languages,mails,journeys}.test.ts",
  "test/compatibility/*.test.ts",
  "test/conformance/{soak,soak-judge,slow-stores,unavailable-objects,ends-of-grants,ends-on-two-generations,lost-control}.test.ts",
  "test/conformance/{edge-op-package,resource-server-package,relays,master-key-replacement,hooks,rehearse-restore}.test.ts",
  "test/deployment/{certificate-host,deploy,deploy-button,interruption,restore,shapes}.test.ts",
  "test/memory/*.test.ts",
];
const runsAll = process.env["LONG_TESTS"] !== "off";
const notNow = runsAll ? [] : longFiles;
/**
 * The compact Worker differs only where a request is routed, where one Worker calls another, and where caches are shared by all endpoints.
 * These conformance files cross each of these borders, and run in both shapes.
 */
const compactFiles = [
  "discovery",
  "hostile-requests",
  "key-rotation",
  "mcp",
  "oidc-clients",
  "oidcc-rp-initiated-logout",
  "redirects-and-pages",
  "request-ids",
  "rfc7009",
  "rfc7662",
  "rfc8628",
];
const migrations = await readD1Migrations(`${root}migrations`);
const auditMigrations = await readD1Migrations(`${root}audit-migrations`);

const bindings = {
  OP_MASTER_KEY: testMasterKey,
  ISSUER: "https://op.example.com",
  /** Lines of successful requests are sampled at random, and tests compare what is logged. */
  REQUEST_LOG_PERCENT: "0",
  TEST_MIGRATIONS: migrations,
  TEST_AUDIT_MIGRATIONS: auditMigrations,
  /** Replays one run of the simulation of the control plane. */
  SIMULATION_SEED: process.env["SIMULATION_SEED"] ?? "",
  /** `off` in `npm test`: fewer random runs. */
  LONG_TESTS: process.env["LONG_TESTS"] ?? "",
  /** The rows of large-shard.test.ts. */
  SHARD_ROWS: process.env["SHARD_ROWS"] ?? "30000",
};

/** A few RSA keys in turn: generating one takes a tenth of a second of CPU. */
const fewKeys = { find: "@edge-op/protocol/jwt/import-key", replacement: `${root}test/fixtures/import-key.ts` };

const objectsBundle = buildSync({
  entryPoints: [`${root}packages/op-state/src/index.ts`],
  bundle: true,
  format: "esm",
  target: "es2024",
  external: ["cloudflare:*"],
  alias: { [fewKeys.find]: fewKeys.replacement },
  write: false,
});

function objectsWorker() {
  const options: V4WorkerOptionsShape = readWorkerOptions(`${root}packages/op-state/wrangler.toml`).workerOptions;
  return {
    ...options,
    compatibilityDate,
    name: "op-state",
    modules: [{ type: "ESModule" as const, path: "index.js", contents: objectsBundle.outputFiles[0]!.text }],
    bindings,
  };
}

/** The library has no Worker of its own: its tests get the storage that Workers bind. */
function sharedBindings() {
  const { d1Databases = {}, kvNamespaces = {}, durableObjects = {} } = objectsWorker();
  return {
    compatibilityDate,
    compatibilityFlags,
    bindings,
    d1Databases,
    kvNamespaces,
    durableObjects: boundElsewhere(durableObjects),
    workers: [objectsWorker()],
  };
}

/** Returns the request that it received: routing tests check which Worker received it, and that it is unchanged. */
function echoWorker(name: string) {
  const contents = `export default {
    async fetch(request) {
      const { method, url, headers } = request;
      const path = new URL(url).pathname;
      if (path.endsWith("/throws")) throw new Error("away");
      const echo = { worker: "${name}", method, url, headers: Object.fromEntries(headers), body: await request.text() };
      return Response.json(echo, { status: 203, headers: [["Server-Timing", "object;dur=1"], ["Set-Cookie", "a=1"], ["Set-Cookie", "b=2"]] });
    },
  };`;
  return { name, modules: [{ type: "ESModule" as const, path: "index.js", contents }], compatibilityDate };
}

/** The files of a project share a few runtimes (in Node: processes): one for each file costs up to four seconds of CPU. */
const oneRuntime = { isolate: false };

/** Classes of Workers that tests in Node load: objects on a simulated platform, and hooks in the test provider. */
const inNode = { alias: { "cloudflare:workers": `${root}test/simulation/cloudflare-workers.ts` } };

/** The hash is tested in the project shared, at its real cost: 100 ms. */
const cheapPasswords = { find: /^\.\/password-cost\.ts$/, replacement: `${root}test/fixtures/password-cost.ts` };

/** Languages that show a text of a page that comes from no catalog. */
const pseudoLanguages = { find: /^\.\/pseudo-languages\.ts$/, replacement: `${root}test/fixtures/pseudo-languages.ts` };

/**
 * The tests' runtime gets each module over a connection that an object does not hear while it starts, so the modules of objects come with the first
 * one. In a bundle, they need no connection.
 */
const objectsAtStart = {
  name: "objects-at-start",
  enforce: "pre" as const,
  transform(code: string, id: string) {
    if (id !== `${root}packages/op-state/src/index.ts`) return undefined;
    const paths: string[] = [];
    const inlined = code.replaceAll(/await import\("([^"]+)"\)/g, (_, path: string) => `module${paths.push(path)}`);
    return paths.map((path, index) => `import * as module${index + 1} from "${path}";`).join("\n") + inlined;
  },
};

function workerProject(name: string, configPath: string, workers: ReturnType<typeof echoWorker>[]) {
  return {
    resolve: { alias: [cheapPasswords, fewKeys, pseudoLanguages] },
    plugins: [
      objectsAtStart,
      cloudflareTest({
        wrangler: { configPath },
        miniflare: { bindings, workers, d1Databases: { AUDIT_DB: "00000000-0000-0000-0000-000000000001" } },
      }),
    ],
    test: {
      name,
      include: [`packages/${name}/test/**/*.test.ts`],
      // Passwords are really hashed, on machines that are also busy otherwise.
      testTimeout: 60_000,
      hookTimeout: 60_000,
      setupFiles: ["./test/fixtures/use-fresh-deployment.ts"],
      ...oneRuntime,
    },
  };
}

export default defineConfig({
  test: {
    // Tests mostly wait: for leases, alarms, clocks.
    maxWorkers: 4,
    /** A renewal in the background may meet the storage of a test that has ended, and nobody waits for it any more. */
    onUnhandledError: ({ cause }) => !String((cause as Error | undefined)?.message).includes("no such table"),
    projects: [
      {
        plugins: [cloudflareTest({ miniflare: sharedBindings() })],
        // Some tests hash passwords and sign for real, on machines that do other things too.
        test: { name: "shared", ...oneRuntime, include: ["packages/shared/test/**/*.test.ts"], testTimeout: 60_000 },
      },
      {
        plugins: [cloudflareTest({ miniflare: { compatibilityDate, compatibilityFlags } })],
        test: {
          name: "protocol",
          ...oneRuntime,
          include: ["packages/protocol/test/**/*.test.ts"],
          testTimeout: 60_000,
        },
      },
      {
        plugins: [cloudflareTest({ miniflare: { compatibilityDate, compatibilityFlags } })],
        test: { name: "pages", ...oneRuntime, include: ["packages/pages/test/**/*.test.ts"] },
      },
      {
        plugins: [cloudflareTest({ miniflare: { compatibilityDate, compatibilityFlags } })],
        test: { name: "resource-server", ...oneRuntime, include: ["packages/resource-server/test/**/*.test.ts"] },
      },
      {
        // It has no store: the Workers that it calls echo what it sends.
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "packages/op-console/wrangler.toml" },
            miniflare: { bindings, workers: ["op-token", "op-management"].map(echoWorker) },
          }),
        ],
        test: { name: "op-console", ...oneRuntime, include: ["packages/op-console/test/**/*.test.ts"] },
      },
      workerProject("op-state", "packages/op-state/wrangler.toml", []),
      workerProject("op-compact", "wrangler.toml", []),
      ...endpointWorkers.map((name) => workerProject(name, `packages/${name}/wrangler.toml`, [objectsWorker()])),
      {
        // The product's classes on a simulated platform, in Node.
        resolve: inNode,
        test: { name: "simulation", include: ["test/simulation/**/*.test.ts"], testTimeout: 240_000 },
      },
      {
        test: {
          name: "reference",
          ...oneRuntime,
          include: ["test/{reference,topology}/**/*.test.ts"],
          // A test of test/topology bundles every Worker.
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: "deployment",
          include: ["test/deployment/**/*.test.ts"],
          exclude: notNow,
          testTimeout: 300_000,
          hookTimeout: 180_000,
        },
      },
      { test: { name: "memory", include: ["test/memory/**/*.test.ts"], exclude: notNow, testTimeout: 240_000 } },
      {
        test: {
          name: "load-tests",
          include: ["load-tests/test/**/*.test.ts"],
          exclude: notNow,
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: "compatibility",
          include: ["test/compatibility/**/*.test.ts"],
          exclude: notNow,
          // A test starts up to four providers.
          testTimeout: 240_000,
          hookTimeout: 120_000,
        },
      },
      {
        resolve: inNode,
        test: {
          name: "conformance",
          ...oneRuntime,
          include: ["test/{conformance,products}/**/*.test.ts"],
          exclude: notNow,
          globalSetup: ["./test/conformance/fixtures/global-setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
      {
        resolve: inNode,
        test: {
          name: "conformance-compact",
          ...oneRuntime,
          include: compactFiles.map((name) => `test/conformance/${name}.test.ts`),
          globalSetup: ["./test/conformance/fixtures/global-setup-compact.ts"],
          testTimeout: 60_000,
          hookTimeout: 180_000,
        },
      },
      ...(findChromium() === undefined
        ? []
        : [
            {
              test: {
                name: "browser",
                include: ["test/browser/**/*.test.ts"],
                exclude: notNow,
                globalSetup: ["./test/browser/share-builds.ts"],
                testTimeout: 120_000,
                hookTimeout: 180_000,
              },
            },
          ]),
      workerProject("op", "packages/op/wrangler.toml", [
        objectsWorker(),
        ...[...endpointWorkers, "op-console"].map(echoWorker),
      ]),
    ],
  },
});
