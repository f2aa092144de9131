/**
 * **Both shapes by `npm run deploy`** (ADR 32), and an address under workers.dev: first deployment, upgrade, and a change of the shape and back, with
 * all stored data kept.
 */

import { type IncomingMessage, type RequestOptions, request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runningVersion } from "./local-cloudflare/account-state.ts";
import { LocalCloudflare } from "./local-cloudflare/local-cloudflare.ts";
import { changes, Operator } from "./operator.ts";

let local: LocalCloudflare;
let operator: Operator;

beforeAll(async () => {
  local = await LocalCloudflare.start();
  operator = new Operator(local);
});

afterAll(async () => {
  operator.cleanUp();
  await local.stop();
});

function scripts(): string[] {
  return [...local.account.scripts.keys()].sort();
}

function consumersOf(queue: string): (string | undefined)[] {
  const found = [...local.account.queues.values()].filter(({ name }) => name === queue);
  return found.flatMap(({ consumers }) => consumers.map(({ script }) => script));
}

function crons(script: string): readonly string[] | undefined {
  return local.account.scripts.get(script)?.crons;
}

function faults(output: string): string[] | null {
  return output.match(/✗.*/g);
}

/** fetch does not set Host, but a request of node:http does. */
async function send(host: string, path: string, options: RequestOptions = {}, body = ""): Promise<IncomingMessage> {
  const headers = { host, ...options.headers };
  return new Promise((resolve, reject) => {
    const outgoing = request(`${local.edgeOrigin}${path}`, { ...options, headers });
    outgoing.once("error", reject).once("response", (response) => {
      response.resume();
      resolve(response);
    });
    outgoing.end(body);
  });
}

/** A token at the issuer's address, by the first admin client. */
async function requestToken(host: string, secret: string): Promise<number> {
  const headers = {
    authorization: `Basic ${btoa(`admin:${secret}`)}`,
    "content-type": "application/x-www-form-urlencoded",
  };
  const { statusCode = 0 } = await send(host, "/token", { method: "POST", headers }, "grant_type=client_credentials");
  return statusCode;
}

/**
 * Where the console sends somebody who is not signed in, and whether the provider shows its sign-in page there: the client exists, with this
 * callback.
 */
async function openConsole(host: string) {
  const { headers } = await send(host, "/console");
  const { origin, pathname, search, searchParams } = new URL(headers.location ?? "");
  const { statusCode } = await send(new URL(origin).host, pathname + search);
  return [statusCode, origin, searchParams.get("redirect_uri")];
}

describe("workers.dev", () => {
  test("separate Workers: only the address of the front door, verified, no zone changed", async () => {
    const { code, output } = await operator.deploy(["--workers-dev", "--separate", "--environment", "trial"]);
    expect([code, faults(output)]).toEqual([0, null]);
    expect(output).toContain("https://op-trial.example.workers.dev is deployed and verified.");
    const enabled = [...local.account.scripts.values()].filter(({ subdomainEnabled }) => subdomainEnabled);
    expect(enabled.map(({ name }) => name)).toEqual(["op-trial"]);
    expect([local.zones[0]!.routes, local.account.domains.size]).toEqual([[], 0]);
    const deleted = await operator.deploy(["destroy", "--environment", "trial", "--confirm", "trial"]);
    expect([deleted.code, scripts()]).toEqual([0, []]);
  });

  test("compact by default: one Worker, verified; a second run changes nothing; nothing remains after destroy", async () => {
    // A location fails once while an upload is spreading.
    for (const path of ["/.well-known/openid-configuration", "/jwks", "/introspect"]) local.failRequestOnce(path);
    const first = await operator.deploy(["--workers-dev", "--environment", "small"]);
    expect(first.output).toContain("shape          compact: one isolate serves all endpoints");
    expect(first.output).toMatch(/waiting for \/jwks: \S+\/jwks is 500/);
    expect([first.code, faults(first.output)]).toEqual([0, null]);
    expect(scripts()).toEqual(["op-small-state"]);
    expect(first.output).toContain("https://op-small-state.example.workers.dev is deployed and verified.");
    expect(first.output).toContain("the Worker runs the uploaded version");
    expect(consumersOf("op-small-audit")).toEqual(["op-small-state"]);
    const again = await operator.deploy(["--environment", "small"]);
    expect([again.code, faults(again.output)]).toEqual([0, null]);
    expect(again.output).toContain("Nothing changed: https://op-small-state.example.workers.dev");
    const status = await operator.deploy(["status", "--environment", "small"]);
    expect(status.output).toContain("Nothing differs from the environment's file.");
    const deleted = await operator.deploy(["destroy", "--environment", "small", "--confirm", "small"]);
    expect([deleted.code, scripts(), local.account.databases.size]).toEqual([0, [], 0]);
  });
});

describe("ADR 32: the shape of an environment is changed by its file", () => {
  const file = (shape: string) => ({ "production.json": { issuer: "https://op.example.com", shape } });
  let secret: string;
  let key: string;

  test("compact on a domain", async () => {
    operator.write(file("compact"));
    const { code, output } = await operator.deploy([]);
    expect([code, faults(output)]).toEqual([0, null]);
    expect(scripts()).toEqual(["op-state"]);
    expect([local.account.domains.get("op.example.com")?.service, local.zones[0]!.routes]).toEqual(["op-state", []]);
    expect(crons("op-state")).toEqual(["*/5 * * * *"]);
    secret = /client_secret {2}(\S+)/.exec(output)![1]!;
    key = /OP_MASTER_KEY {2}(\S+)/.exec(output)![1]!;
    expect(await requestToken("op.example.com", secret)).toBe(200);
    const callback = "https://op.example.com/console/callback";
    expect(await openConsole("op.example.com")).toEqual([303, "https://op.example.com", callback]);
  });

  test("to separate Workers: refused without the key of the new Workers, before anything is changed", async () => {
    operator.write(file("separate"));
    const { code, output, calls } = await operator.deploy([]);
    expect([code, changes(calls)]).toEqual([2, []]);
    expect(output).toContain(
      "op-token, op-management, op-userinfo, op-auth, op-console must be given the deployment's OP_MASTER_KEY",
    );
  });

  test("to separate Workers: op-state comes last, a failed step is continued, and the admin client is still there", async () => {
    local.failOnce("PUT", /\/workers\/scripts\/op$/);
    const failed = await operator.deploy([], { OP_MASTER_KEY: key });
    expect([failed.code, await requestToken("op.example.com", secret)]).toEqual([1, 200]);
    const { code, output, calls } = await operator.deploy([], { OP_MASTER_KEY: key });
    expect([code, faults(output)]).toEqual([0, null]);
    const uploaded = calls.flatMap(({ method, path }) =>
      method === "PUT" || method === "POST"
        ? (/\/workers\/scripts\/([^/]+)(?:\/versions)?$/.exec(path)?.[1] ?? [])
        : [],
    );
    expect([uploaded.at(-1), uploaded.length]).toEqual(["op-state", 7]);
    expect(local.account.domains.get("op.example.com")?.service).toBe("op");
    expect(consumersOf("op-audit")).toEqual(["op-management"]);
    expect([crons("op-state"), crons("op-management")]).toEqual([[], ["*/5 * * * *"]]);
    expect(await requestToken("op.example.com", secret)).toBe(200);
    const callback = "https://op.example.com/console/callback";
    expect(await openConsole("op.example.com")).toEqual([303, "https://op.example.com", callback]);
    // ADR 64: an origin of its own is a custom domain of op-console, and its callback is refused until the client has it.
    const own = { ...local.account.domains.get("op.example.com")!, id: "own", hostname: "console.example.com" };
    local.account.domains.set(own.hostname, { ...own, service: "op-console" });
    const ownCallback = "https://console.example.com/console/callback";
    expect(await openConsole(own.hostname)).toEqual([400, "https://op.example.com", ownCallback]);
    const status = await operator.deploy(["status"]);
    expect(status.output).toContain("Nothing differs from the environment's file.");
    local.account.domains.delete(own.hostname);
  });

  test("a file that names no shape keeps what is deployed", async () => {
    operator.write({ "production.json": { issuer: "https://op.example.com" } });
    const { code, output, calls } = await operator.deploy([]);
    expect([code, faults(output), scripts().length]).toEqual([0, null, 7]);
    expect(output).toContain("shape          separate: sign-ins delay no token request");
    expect(changes(calls).filter((call) => call.startsWith("DELETE "))).toEqual([]);
    const status = await operator.deploy(["status"]);
    expect(status.output).toContain("Nothing differs from the environment's file.");
  });

  test("back to compact: it serves before the others and their routes are deleted", async () => {
    operator.write(file("compact"));
    const { code, output, calls } = await operator.deploy([]);
    expect([code, faults(output)]).toEqual([0, null]);
    expect(output).toContain("shape          separate becomes compact: ");
    expect(scripts()).toEqual(["op-state"]);
    const order = changes(calls).filter((call) => /scripts\/[^/]+$/.test(call));
    expect(order.slice(1).every((call) => call.startsWith("DELETE "))).toBe(true);
    expect([local.account.domains.get("op.example.com")?.service, local.zones[0]!.routes]).toEqual(["op-state", []]);
    expect(consumersOf("op-audit")).toEqual(["op-state"]);
    expect(await requestToken("op.example.com", secret)).toBe(200);
    const bindings = runningVersion(local.account.scripts.get("op-state")!)!.bindings;
    expect(bindings.find(({ name }) => name === "OP_MASTER_KEY")?.text).toBe(key);
  });
});
