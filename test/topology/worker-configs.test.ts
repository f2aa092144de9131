import { expect, test } from "vitest";
import {
  findAllConflicts,
  findConflicts,
  readWorkerConfigs,
} from "../../packages/local-provider/src/worker-configs.ts";
import { workers } from "../../packages/local-provider/src/workers.ts";

/** A deployment refuses wrangler files that disagree on what every Worker must share. */
const agreeing = readWorkerConfigs();

/** The six files with some settings of one of them changed; `undefined` leaves a variable out. */
function withSettings(file: string, changes: Readonly<Record<string, string | undefined>>) {
  return agreeing.map((config) => {
    if (config.file !== file) return config;
    const settings = Object.entries({ ...config.settings, ...changes }).filter((entry) => entry[1] !== undefined);
    return { ...config, settings: Object.fromEntries(settings) as Record<string, string> };
  });
}

test("the repository's own files agree, in each shape", () => {
  expect(agreeing.map(({ file }) => file)).toEqual(workers.map(({ config }) => config));
  expect(agreeing.map(({ settings }) => settings["ISSUER"])).toEqual(Array(6).fill("http://localhost:8787"));
  expect(findAllConflicts()).toEqual([]);
});

test("a lifetime that one Worker alone has is refused, with every file and its value", () => {
  const conflicts = findConflicts(withSettings("packages/op-auth/wrangler.toml", { REFRESH_TOKEN_LIFETIME: "86400" }));
  expect(conflicts).toEqual([
    `REFRESH_TOKEN_LIFETIME must be the same in every Worker:
  packages/op-state/wrangler.toml       (not set)
  packages/op-token/wrangler.toml       (not set)
  packages/op-management/wrangler.toml  (not set)
  packages/op-userinfo/wrangler.toml    (not set)
  packages/op-auth/wrangler.toml        86400
  packages/op/wrangler.toml             (not set)`,
  ]);
});

test.each([
  ["ISSUER", "https://op.example.com"],
  ["REVOCATION_MODE", "bounded"],
  ["LEASE_MS", "500"],
  ["SERVER_TIMING", "true"],
  ["ACCESS_TOKEN_LIFETIME", "600"],
  ["ID_TOKEN_LIFETIME", "600"],
  ["ACCESS_TOKEN_ALG", "EdDSA"],
  ["ID_TOKEN_ALG", "ES256"],
  ["INTROSPECTION_CACHE", "true"],
  ["REFRESH_GRACE", "0"],
  ["REFRESH_REPLAYS", "0"],
  ["REFRESH_TOKEN_LIFETIME", "86400"],
  ["TRUST_FORWARDED_HEADERS", "true"],
  ["REGION", "weur"],
])("%s must be the same in every Worker", (name, value) => {
  const conflicts = findConflicts(withSettings("packages/op-state/wrangler.toml", { [name]: value }));
  expect(conflicts.map((conflict) => conflict.split("\n")[0])).toEqual([`${name} must be the same in every Worker:`]);
  const everywhere = agreeing.map((config) => ({ ...config, settings: { ...config.settings, [name]: value } }));
  expect(findConflicts(everywhere)).toEqual([]);
});

test("a value that a Worker would refuse is refused before it is deployed, with its file", () => {
  expect(findConflicts(withSettings("packages/op/wrangler.toml", { LEASE_MS: "50" }))[0]).toBe(
    'packages/op/wrangler.toml: LEASE_MS must be a whole number from 100 to 10000, not "50"',
  );
  expect(findConflicts(withSettings("packages/op-token/wrangler.toml", { ISSUER: undefined }))[0]).toBe(
    "packages/op-token/wrangler.toml: ISSUER must be the absolute URL of this provider",
  );
});

test.each(["DB", "CACHE"])("another %s in one Worker is refused", (name) => {
  const [first, ...others] = agreeing;
  const conflicts = findConflicts([{ ...first!, stores: { ...first!.stores, [name]: "another" } }, ...others]);
  expect(conflicts.map((conflict) => conflict.split("\n").slice(0, 2))).toEqual([
    [`${name} must be the same in every Worker:`, "  packages/op-state/wrangler.toml       another"],
  ]);
});
