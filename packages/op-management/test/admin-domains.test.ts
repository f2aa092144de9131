/**
 * **Domains of organisations**, with the two resolvers replaced. Hostile cases:
 *
 * | Case | Test |
 * | --- | --- |
 * | an expired domain is bought by a stranger, who proves it for another organisation | contested, until a decision |
 * | an answer is forged at one resolver; there is no answer | two resolvers must agree |
 * | `co.uk`, `gmail.com`, a final dot, names that look alike, a parent by its child | not a domain of an organisation; exact domain |
 */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { lookUpRecord, recordValue } from "../src/organizations/domain-record.ts";
import { isVerifiedDomain } from "../src/organizations/organization-domains.ts";
import { AdminCaller, bindings, issuer } from "./fixtures/admin-fixtures.ts";

const { DB } = bindings;
const domain = "corp.example";
const path = (orgId: string, name = domain) => `/organizations/${orgId}/domains/${name}`;

let admin: AdminCaller;
/** Records by name, as each resolver has them; `undefined`: it fails. */
let zones: [Map<string, string[]> | undefined, Map<string, string[]> | undefined];
let asked: string[];

beforeEach(async () => {
  admin = new AdminCaller();
  for (const org of ["acme", "zeta"]) await admin.call("POST", "/organizations", { body: { org_id: org, name: org } });
  const zone = new Map<string, string[]>();
  [zones, asked] = [[zone, zone], []];
  const network = fetch;
  vi.stubGlobal("fetch", async (input: string, init?: RequestInit) => {
    const url = new URL(String(input));
    const resolver = ["cloudflare-dns.com", "dns.google"].indexOf(url.hostname);
    if (resolver < 0) return network(input, init);
    const name = url.searchParams.get("name")!;
    asked.push(name);
    const values = zones[resolver]?.get(name);
    if (zones[resolver] === undefined) return Response.json({ Status: 2 });
    return Response.json(
      values === undefined
        ? { Status: 3 }
        : { Status: 0, Answer: values.map((data) => ({ type: 16, data: `"${data}"` })) },
    );
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
});

async function publish(orgId: string, name = domain): Promise<void> {
  const { record_name, record_value } = (await admin.call("PUT", path(orgId, name))).body;
  zones[0]!.set(record_name, [...(zones[0]!.get(record_name) ?? []), record_value]);
}

const check = async (orgId: string, name = domain) => {
  const { status, body } = await admin.call("POST", `${path(orgId, name)}/check`);
  return [status, body.state];
};
const stateOf = async (orgId: string) =>
  (await admin.call("GET", `/organizations/${orgId}/domains`)).body.domains.map(
    (each: { state: string }) => each.state,
  );

describe("/admin/organizations/{org_id}/domains", () => {
  it("a claim shows the record; it is verified when both resolvers see it, and ended by its deletion", async () => {
    const claimed = await admin.call("PUT", path("acme"));
    expect([claimed.status, claimed.body]).toEqual([
      200,
      {
        ...{ domain, state: "pending", record_name: "_edge-op.corp.example" },
        record_value: await recordValue(bindings, { issuer, orgId: "acme", domain }),
      },
    ]);
    expect(await check("acme")).toEqual([200, "pending"]);
    await publish("acme");
    expect(await check("acme")).toEqual([200, "verified"]);
    expect(await isVerifiedDomain(DB, "acme", { key: `ann@${domain}` })).toBe(true);
    expect((await admin.call("PUT", path("acme"))).body).toMatchObject({
      state: "verified",
      verified_at: expect.any(Number),
    });
    expect((await admin.call("DELETE", path("acme"))).status).toBe(204);
    expect(await isVerifiedDomain(DB, "acme", { key: `ann@${domain}` })).toBe(false);
    const events = await DB.prepare(
      "SELECT action FROM admin_events WHERE action LIKE 'organization.domain%' ORDER BY seq",
    ).all();
    expect(events.results.map(({ action }) => action)).toEqual([
      ...["organization.domain_claim", "organization.domain_check", "organization.domain_check"],
      "organization.domain_delete",
    ]);
  });

  it("two resolvers must agree: one that forges, or fails, changes nothing", async () => {
    await publish("acme");
    const honest = zones[0];
    for (const other of [new Map<string, string[]>(), undefined]) {
      zones = [honest, other];
      expect(await check("acme")).toEqual([200, "pending"]);
    }
    zones = [honest, honest];
    expect(await check("acme")).toEqual([200, "verified"]);
    for (const pair of [
      [honest, new Map()],
      [undefined, undefined],
      [new Map(), undefined],
    ] as const) {
      zones = [...pair];
      expect(await check("acme")).toEqual([200, "verified"]);
    }
    expect((await admin.call("PUT", path("acme"))).body.absent_since).toBeUndefined();
  });

  it("O5: a second proof is refused while the first stands; when that is gone, it is contested until a decision", async () => {
    await publish("acme");
    await check("acme");
    await publish("zeta");
    expect((await check("zeta"))[0]).toBe(409);
    expect(asked.length).toBe(6);
    const stranger = await recordValue(bindings, { issuer, orgId: "zeta", domain });
    zones[0]!.set("_edge-op.corp.example", [stranger]);
    expect(await lookUpRecord(bindings, { issuer, orgId: "acme", domain })).toBe("absent");
    expect(await check("zeta")).toEqual([200, "contested"]);
    expect([await stateOf("acme"), await stateOf("zeta")]).toEqual([["contested"], ["contested"]]);
    for (const orgId of ["acme", "zeta"]) {
      expect(await check(orgId)).toEqual([200, "contested"]);
      expect(await isVerifiedDomain(DB, orgId, { key: `ann@${domain}` })).toBe(false);
    }
    expect((await admin.call("POST", `${path("zeta")}/decision`)).body.state).toBe("verified");
    expect([await stateOf("acme"), await stateOf("zeta")]).toEqual([["pending"], ["verified"]]);
    expect((await admin.call("POST", `${path("zeta")}/decision`)).status).toBe(409);
  });

  it.each([
    ...[
      "co.uk",
      "github.io",
      "gmail.com",
      "mail.gmail.com",
      "yahoo.co.uk",
      "corp.example.",
      "Corp.example",
      "corp",
      "10.0.0.1",
    ],
    ...["cörp.example", "corp..example", "-corp.example", `${"a".repeat(64)}.example`, "corp_x.example", "*.example"],
  ])("%s is not a domain of an organisation", async (name) => {
    const { status, body } = await admin.call("PUT", path("acme", encodeURIComponent(name)));
    expect([status, body.fields?.[0]?.path]).toEqual([400, "domain"]);
    expect(await stateOf("acme")).toEqual([]);
  });

  it("a proof is of exactly this domain: neither of a parent, nor of a child, nor of one that looks alike", async () => {
    const alike = "xn--orp-lbd.example";
    for (const name of [domain, `sub.${domain}`, alike]) {
      expect((await admin.call("PUT", path("acme", name))).status).toBe(200);
    }
    await publish("acme", `sub.${domain}`);
    expect(await check("acme", `sub.${domain}`)).toEqual([200, "verified"]);
    expect(await isVerifiedDomain(DB, "acme", { key: `ann@${domain}` })).toBe(false);
    const value = await recordValue(bindings, { issuer, orgId: "acme", domain: `sub.${domain}` });
    zones[0]!.set("_edge-op.corp.example", [value]);
    expect(await check("acme")).toEqual([200, "pending"]);
  });

  it("an organisation has at most 50, and each of them only where it exists", async () => {
    for (let index = 0; index < 50; index += 1) {
      await DB.prepare("INSERT INTO organization_domains (org_id, domain, created_at_ms) VALUES ('acme', ?1, 1)")
        .bind(`d${index}.example`)
        .run();
    }
    expect((await admin.call("PUT", path("acme"))).status).toBe(409);
    expect((await admin.call("PUT", path("acme", "d7.example"))).status).toBe(200);
    expect((await admin.call("PUT", path("none"))).status).toBe(404);
    for (const [method, end] of [
      ["POST", "/check"],
      ["POST", "/decision"],
      ["DELETE", ""],
    ] as const) {
      expect((await admin.call(method, `${path("zeta", "d7.example")}${end}`)).status).toBe(404);
    }
    expect((await admin.call("GET", "/organizations/acme/domains?limit=20")).body.domains).toHaveLength(20);
  });
});
