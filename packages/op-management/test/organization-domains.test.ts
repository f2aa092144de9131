import {
  findOrganizationOfDomain,
  isVerifiedDomain,
  whereDomainVerified,
} from "@edge-op/shared/users/organization-domains";
import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, bindings } from "./fixtures/admin-fixtures.ts";

const { DB } = bindings;

beforeEach(async () => {
  const admin = new AdminCaller();
  for (const org of ["acme", "zeta"]) await admin.call("POST", "/organizations", { body: { org_id: org, name: org } });
});

const insert = (orgId: string, domain: string, state: string) =>
  DB.prepare("INSERT INTO organization_domains (org_id, domain, state, created_at_ms) VALUES (?1, ?2, ?3, 1)")
    .bind(orgId, domain, state)
    .run();

describe("the organisation of a domain", () => {
  it("is the one for which exactly this domain is verified", async () => {
    await insert("acme", "corp.example", "verified");
    await insert("zeta", "corp.example", "contested");
    expect(await findOrganizationOfDomain(DB, { key: "ann@corp.example" })).toBe("acme");
    expect(await isVerifiedDomain(DB, "acme", { key: "ann@corp.example" })).toBe(true);
    expect(await isVerifiedDomain(DB, "zeta", { key: "ann@corp.example" })).toBe(false);
    for (const key of ["ann@sub.corp.example", "ann@example", "ann@corp.example.", "corp.example@evil.example"]) {
      expect(await findOrganizationOfDomain(DB, { key })).toBeUndefined();
    }
  });

  it.each(["pending", "contested", "lapsed"])("is none while it is %s", async (state) => {
    await insert("acme", "corp.example", state);
    expect(await findOrganizationOfDomain(DB, { key: "ann@corp.example" })).toBeUndefined();
  });

  it("O5: the index refuses a second verified row, whoever writes it", async () => {
    await insert("acme", "corp.example", "verified");
    await expect(insert("zeta", "corp.example", "verified")).rejects.toThrow(/UNIQUE/);
  });

  it("is a condition of a statement that writes", async () => {
    await insert("acme", "corp.example", "verified");
    const holds = async (orgId: string, domain: string) =>
      DB.prepare(`SELECT ${whereDomainVerified("?1", "?2")} AS holds`)
        .bind(orgId, domain)
        .first("holds");
    expect([await holds("acme", "corp.example"), await holds("zeta", "corp.example")]).toEqual([1, 0]);
    expect(await holds("acme", "sub.corp.example")).toBe(0);
  });

  it("is read in one row", async () => {
    for (let i = 0; i < 50; i += 1) await insert("acme", `d${i}.example`, "verified");
    await insert("zeta", "d7.example", "pending");
    const select = "SELECT org_id FROM organization_domains WHERE domain = ?1 AND state = 'verified'";
    expect((await DB.prepare(select).bind("d7.example").all()).meta.rows_read).toBe(1);
  });
});
