import * as oidc from "openid-client";
import type { Shape } from "../../packages/edge-op/src/workers.ts";
import {
  difference,
  endpointWorkers,
  type Facts,
  readObjectReport,
  readWorkerFacts,
  type WantedFacts,
} from "./read-facts.ts";
import { objectsWorker } from "./shape.ts";
import { adminToken, discover, type TemporaryClient } from "./temporary-client.ts";
import { resultOf, waitFor } from "./wait.ts";

export interface Verification {
  readonly issuer: string;
  readonly client: TemporaryClient;
  readonly shape: Shape;
  readonly reach: typeof fetch;
  readonly factsToken: string;
  /** Version ids by Worker. */
  readonly versions: Readonly<Record<string, string>>;
  readonly keys: Readonly<Record<string, string>>;
  readonly updateDelayMs: number;
}

const addressMs = 600_000;
const spreadMs = 60_000;
const pollMs = 3_000;

/**
 * **Runs a client against a deployment**: discovery, keys, a token by `private_key_jwt`, introspection, revocation, and the reported facts of every
 * Worker and object. Certificates and DNS of a new domain take a while, so the first step waits for `/health`. While an upload is spreading, a
 * location may fail once, so requests that can be repeated are; the content of a response is checked once.
 */
export async function verifyDeployment(options: Verification): Promise<string[]> {
  const { issuer, reach } = options;
  await awaitHealth(issuer, reach);
  const config = await repeated("discovery", () => discover(issuer, options.client, reach));
  const checked: string[] = [`discovery names ${checkMetadata(config, issuer)} endpoints below ${issuer}`];
  const keys = await repeated("/jwks", () => readKeys(config.serverMetadata().jwks_uri!, reach));
  checked.push(`${keys} signing keys are published`);
  const token = await repeated("/token", () => adminToken(config));
  const isActive = async () => (await repeated("/introspect", () => oidc.tokenIntrospection(config, token))).active;
  if (!(await isActive())) throw new Error("a new token introspects as inactive");
  checked.push("a client gets a token by private_key_jwt, and it introspects as active");
  await awaitWorkers(options);
  const { length } = endpointWorkers[options.shape];
  checked.push(
    length === 1 ? "the Worker runs the uploaded version" : `${length} endpoint Workers run the uploaded versions`,
  );
  checked.push(`${await awaitObjects(options, () => adminToken(config))} objects run the uploaded version and key`);
  await repeated("/revoke", () => oidc.tokenRevocation(config, token));
  if (await isActive()) throw new Error("a revoked token introspects as active");
  checked.push("the token is revoked, and it introspects as inactive at once");
  return checked;
}

export function repeated<T>(what: string, run: () => Promise<T>): Promise<T> {
  return resultOf(run, { what, everyMs: pollMs, atMostMs: spreadMs });
}

async function readKeys(url: string, reach: typeof fetch): Promise<number> {
  const response = await reach(url);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${url} is ${response.status}`);
  const { keys } = JSON.parse(text) as { keys?: readonly unknown[] };
  if (keys === undefined || keys.length === 0) throw new Error(`${url} has no key`);
  return keys.length;
}

export function awaitHealth(issuer: string, reach: typeof fetch): Promise<void> {
  return waitFor(
    async () => {
      const response = await reach(`${issuer}/health`);
      const text = await response.text();
      return response.status === 200 && text.includes('"ok"') ? undefined : `/health is ${response.status}`;
    },
    { what: `${issuer} to respond`, everyMs: pollMs, atMostMs: addressMs },
  );
}

function checkMetadata(config: oidc.Configuration, issuer: string): number {
  const endpoints = Object.entries(config.serverMetadata()).filter(([name]) => /_endpoint$|^jwks_uri$/.test(name));
  for (const [name, url] of endpoints) {
    if (!String(url).startsWith(`${issuer}/`)) throw new Error(`discovery: ${name} is ${String(url)}`);
  }
  return endpoints.length;
}

/** Waits until the upload, which takes seconds, has reached this location. */
export function awaitWorkers({
  issuer,
  shape,
  factsToken,
  reach,
  versions,
  keys,
}: Omit<Verification, "client" | "updateDelayMs">) {
  return waitFor(
    async () => {
      for (const worker of endpointWorkers[shape]) {
        const facts = await readWorkerFacts(issuer, worker, factsToken, reach);
        if (facts === undefined) return `${worker} does not report`;
        const wrong = difference(facts, wantedOf(worker === "op" ? {} : keys, versions[worker]));
        if (wrong !== undefined) return wrong;
      }
      return undefined;
    },
    { what: "the Workers", everyMs: pollMs, atMostMs: spreadMs },
  );
}

/**
 * Waits until every object runs the version and the keys; returns their number. Requesting the facts does not delay an object's update, which is due
 * after a fixed time.
 */
export async function awaitObjects(
  { issuer, shape, reach, versions, keys, updateDelayMs }: Omit<Verification, "client">,
  newToken: () => Promise<string>,
): Promise<number> {
  let count = 0;
  await waitFor(
    async () => {
      const report = await readObjectReport(issuer, await newToken(), reach);
      if (report === undefined) return "op-management does not report";
      const wanted = wantedOf(keys, versions[objectsWorker({ shape })]);
      const wrong = [
        ...report.objects.flatMap((facts: Facts) => difference(facts, wanted) ?? []),
        ...report.unreachable.map((name) => `${name}: no response`),
      ];
      count = report.objects.length;
      return wrong.length === 0 ? undefined : `${wrong.length} objects (${wrong[0]})`;
    },
    { what: "the objects", everyMs: pollMs, atMostMs: spreadMs + updateDelayMs },
  );
  return count;
}

function wantedOf(keys: Readonly<Record<string, string>>, version: string | undefined): WantedFacts {
  return version === undefined ? { keys } : { version, keys };
}
