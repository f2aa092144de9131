import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { buildSync } from "esbuild";
import type { V4WorkerOptionsShape } from "miniflare";
import { defineConfig } from "vitest/config";
import { unstable_getMiniflareWorkerOptions as readWorkerOptions } from "wrangler";
import { boundElsewhere } from "./packages/local-provider/src/describe-workers.ts";
import { findChromium } from "./test/browser/find-chromium.ts";

/**
 * One project a package, each in real workerd with real crypto and storage. The objects of op-state run beside the Worker
 * under test as an auxiliary Worker, except in op-state's own project, whose tests may evict objects and run alarms. The
 * project conformance is another matter: Node, HTTP, and all Workers as they are deployed.
 */
const root = `${import.meta.dirname}/`;
const compatibilityDate = "2026-10-20";
const compatibilityFlags = ["global_fetch_strictly_public"];
const testMasterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const endpointWorkers = ["op-token", "op-management", "op-userinfo", "op-auth"];
/** Conformance files that the compact Worker does not repeat: they start a provider for a matter that does not depend on its shape. */
const compactExcluded = [
  "audit-trail",
  "certify",
  "client-snippets",
  "deployment-settings",
  "ends-of-grants",
  "resource-server-guides",
  "isolate-process",
  "local-provider",
  "login-costs",
  "mcp-sdk-1",
  "master-key-replacement",
  "operator-view",
  "slow-bodies",
  "slow-stores",
  "soak",
  "soak-judge",
  "unavailable-objects",
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
  /** The rows of large-shard.test.ts. */
  SHARD_ROWS: process.env["SHARD_ROWS"] ?? "30000",
};

const objectsBundle = buildSync({
  entryPoints: [`${root}packages/op-state/src/index.ts`],
  bundle: true,
  format: "esm",
  target: "es2024",
  external: ["cloudflare:*"],
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

/** Answers with what it was asked: routing tests need to know who was asked for what, and that nothing was changed. */
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

function workerProject(name: string, configPath: string, workers: ReturnType<typeof echoWorker>[]) {
  return {
    plugins: [
      cloudflareTest({
        wrangler: { configPath },
        miniflare: { bindings, workers, d1Databases: { AUDIT_DB: "00000000-0000-0000-0000-000000000001" } },
      }),
    ],
    test: {
      name,
      include: [`packages/${name}/test/**/*.test.ts`],
      // Passwords are hashed for real, on machines that do other things too.
      testTimeout: 30_000,
      hookTimeout: 30_000,
      setupFiles: ["./test/fixtures/use-fresh-deployment.ts"],
    },
  };
}

export default defineConfig({
  test: {
    // Tests mostly wait: for leases, alarms, clocks.
    maxWorkers: 3,
    projects: [
      {
        plugins: [cloudflareTest({ miniflare: sharedBindings() })],
        // Some tests hash passwords and sign for real, on machines that do other things too.
        test: { name: "shared", include: ["packages/shared/test/**/*.test.ts"], testTimeout: 30_000 },
      },
      {
        plugins: [cloudflareTest({ miniflare: { compatibilityDate, compatibilityFlags } })],
        test: { name: "protocol", include: ["packages/protocol/test/**/*.test.ts"], testTimeout: 30_000 },
      },
      {
        plugins: [cloudflareTest({ miniflare: { compatibilityDate, compatibilityFlags } })],
        test: { name: "pages", include: ["packages/pages/test/**/*.test.ts"] },
      },
      {
        plugins: [cloudflareTest({ miniflare: { compatibilityDate, compatibilityFlags } })],
        test: { name: "resource-server", include: ["packages/resource-server/test/**/*.test.ts"] },
      },
      workerProject("op-state", "packages/op-state/wrangler.toml", []),
      workerProject("op-compact", "wrangler.toml", []),
      ...endpointWorkers.map((name) => workerProject(name, `packages/${name}/wrangler.toml`, [objectsWorker()])),
      {
        // The product's classes on a simulated platform, in Node.
        resolve: { alias: { "cloudflare:workers": `${root}test/simulation/cloudflare-workers.ts` } },
        test: { name: "simulation", include: ["test/simulation/**/*.test.ts"], testTimeout: 240_000 },
      },
      { test: { name: "reference", include: ["test/reference/**/*.test.ts"] } },
      {
        test: {
          name: "deployment",
          include: ["test/deployment/**/*.test.ts"],
          testTimeout: 300_000,
          hookTimeout: 60_000,
        },
      },
      { test: { name: "memory", include: ["test/memory/**/*.test.ts"], testTimeout: 60_000 } },
      { test: { name: "load-tests", include: ["load-tests/test/**/*.test.ts"], testTimeout: 120_000 } },
      {
        test: {
          name: "compatibility",
          include: ["test/compatibility/**/*.test.ts"],
          // A test starts up to four providers.
          testTimeout: 240_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "conformance",
          include: ["test/conformance/**/*.test.ts", "test/topology/**/*.test.ts"],
          globalSetup: ["./test/conformance/fixtures/global-setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "conformance-compact",
          include: ["test/conformance/**/*.test.ts"],
          // Those about the separate Workers' deployment, or about code that is the same in both shapes.
          exclude: compactExcluded.map((name) => `test/conformance/${name}.test.ts`),
          globalSetup: ["./test/conformance/fixtures/global-setup-compact.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      ...(findChromium() === undefined
        ? []
        : [
            {
              test: {
                name: "browser",
                include: ["test/browser/**/*.test.ts"],
                testTimeout: 60_000,
                hookTimeout: 60_000,
              },
            },
          ]),
      workerProject("op", "packages/op/wrangler.toml", [objectsWorker(), ...endpointWorkers.map(echoWorker)]),
    ],
  },
});
