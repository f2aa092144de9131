/** **The host that requests client certificates**, set up by `npm run deploy`: its domain, its authority, and the zone's list of hosts. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { certificateHost, enableCertificates, manualStep } from "../../scripts/deploy/certificate-host.ts";
import { CloudflareApi } from "../../scripts/deploy/cloudflare-api.ts";
import { checkEnvironment, type EnvironmentFile } from "../../scripts/deploy/environment.ts";
import { Refusal } from "../../scripts/deploy/refusal.ts";
import { openSession, refuseConflicts } from "../../scripts/deploy/session.ts";
import { TestAuthority } from "../fixtures/client-certificates.ts";
import { LocalCloudflare } from "./local-cloudflare/local-cloudflare.ts";
import { changes, Operator } from "./operator.ts";

const issuer = "https://op.example.com";
const host = "mtls.op.example.com";
const settings = { MTLS_ORIGIN: `https://${host}` };

let local: LocalCloudflare;
let operator: Operator;
let authority: string;

beforeAll(async () => {
  local = await LocalCloudflare.start();
  operator = new Operator(local);
  authority = (await TestAuthority.create()).cert;
});

afterAll(async () => {
  vi.unstubAllEnvs();
  operator.cleanUp();
  await local.stop();
});

function check(file: EnvironmentFile) {
  return checkEnvironment("production", { issuer, ...file });
}

function environment(file: EnvironmentFile) {
  const checked = check(file);
  if ("errors" in checked) throw new Error(checked.errors.join("; "));
  return checked.environment;
}

describe("the host that requests certificates", () => {
  test.each<[EnvironmentFile, string | undefined]>([
    [{}, undefined],
    [{ settings }, host],
    [{ settings: { MTLS_ORIGIN: issuer } }, "op.example.com"],
    [{ settings: { ...settings, MTLS_PROXY_KEY_SHA256: "0".repeat(64) } }, undefined],
  ])("%j: %s", (file, expected) => {
    expect(certificateHost(environment(file))).toBe(expected);
  });

  test("clientAuthority must be the certificate of an authority", async () => {
    const leaf = (await (await TestAuthority.create()).issue()).cert;
    for (const clientAuthority of ["nonsense", leaf]) {
      expect(check({ clientAuthority })).toEqual({ errors: [expect.stringContaining("clientAuthority must be")] });
    }
    expect(environment({ clientAuthority: authority }).clientAuthority).toBe(authority);
  });
});

describe("the authority and the zone's list of hosts", () => {
  const associations = () => Object.fromEntries(local.zones[0]!.certificateHosts);
  const enable = (own: string | undefined) => {
    const { id } = local.zones[0]!;
    const api = new CloudflareApi(local.token, { base: local.apiUrl });
    return enableCertificates({ api, account: local.account.id, zone: id, host, authority: own, name: "op-clients" });
  };

  test("npm run deploy creates the domain, uploads the authority, and reaches the host", async () => {
    const file = { issuer, shape: "compact", settings, clientAuthority: authority };
    operator.write({ "production.json": file });
    const { code, output } = await operator.deploy([]);
    expect(output).toContain(`certificates   ${host} → op-state`);
    expect(output).toContain(`${host} now asks for certificates of clientAuthority`);
    expect(output).toContain(`endpoints for client certificates below https://${host}, which responds`);
    expect(code).toBe(0);
    expect([...local.account.domains.keys()].toSorted()).toEqual([host, "op.example.com"]);
    expect(associations()).toEqual({ [local.account.mtlsCertificates[0]!.id]: [host] });
  });

  test("repeated: the authority is uploaded once, and the list is not written", async () => {
    const calls = local.calls.length;
    expect(await enable(authority)).toEqual([`${host} asks for certificates of clientAuthority`]);
    expect(changes(local.calls.slice(calls))).toEqual([]);
    expect(local.account.mtlsCertificates).toHaveLength(1);
  });

  test("the hosts of others are kept in the list of Cloudflare's own authority", async () => {
    local.zones[0]!.certificateHosts.set("", ["other.example.com"]);
    expect(await enable(undefined)).toEqual([`${host} now asks for certificates of Cloudflare's own authority`]);
    expect(associations()[""]).toEqual(["other.example.com", host]);
  });

  test("a token without the permission for certificates: describes the manual step; any other error is kept", async () => {
    local.zones[0]!.certificateHosts.set("", []);
    local.failOnce("PUT", /hostname_associations$/);
    const refused: unknown = await enable(undefined).catch((error: unknown) => error);
    const lines = manualStep(refused, { host, authority: undefined });
    expect(lines?.[0]).toContain("NOT DONE: PUT");
    expect(lines?.at(-1)).toContain(`SSL/TLS › Client Certificates › Hosts › Edit: add ${host}`);
    expect(manualStep(new Error("other"), { host, authority: undefined })).toBeUndefined();
  });
});

describe("conflicts", () => {
  async function refusal(file: EnvironmentFile): Promise<readonly string[]> {
    vi.stubEnv("CLOUDFLARE_API_BASE_URL", local.apiUrl);
    vi.stubEnv("CLOUDFLARE_API_TOKEN", local.token);
    const directory = mkdtempSync(join(tmpdir(), "edge-op-generated-"));
    try {
      const session = await openSession(environment(file), directory, {
        account: undefined,
        origin: undefined,
        verbose: false,
      });
      refuseConflicts(session);
      return [];
    } catch (error) {
      if (error instanceof Refusal) return error.reasons;
      throw error;
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }

  test("a host without a zone in the account, and a host with records of others", async () => {
    const outside = await refusal({ shape: "compact", settings: { MTLS_ORIGIN: "https://mtls.example.net" } });
    expect(outside[0]).toContain("No zone of mtls.example.net (MTLS_ORIGIN)");
    local.zones[0]!.dnsRecords.push({ type: "A", name: "taken.example.com", content: "192.0.2.1" });
    const calls = local.calls.length;
    const taken = await refusal({ shape: "compact", settings: { MTLS_ORIGIN: "https://taken.example.com" } });
    expect(taken.join("\n")).toContain("--take-over dns:taken.example.com");
    expect(changes(local.calls.slice(calls))).toEqual([]);
  });
});
