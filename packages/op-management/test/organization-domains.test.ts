import { beforeEach, describe, expect, it } from "vitest";
import { afterDecision, afterLookUp } from "../src/organizations/domain-rule.ts";
import { readClaims, writeClaims } from "../src/organizations/domain-store.ts";
import {
  findOrganizationOfDomain,
  isVerifiedDomain,
  whereDomainVerified,
} from "../src/organizations/organization-domains.ts";
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

describe("what a look-up has decided", () => {
  const domain = "corp.example";
  const states = async () =>
    (
      await DB.prepare("SELECT org_id || ' ' || state AS text FROM organization_domains ORDER BY org_id").all()
    ).results.map(({ text }) => text);

  /** A request that has read and looked up; the result writes what was decided. */
  async function prove(orgId: string, atMs: number): Promise<() => Promise<number>> {
    const read = await readClaims(DB, orgId, domain);
    const own = read.find((claim) => claim.orgId === orgId)!;
    const others = read.filter((claim) => claim !== own).map((claim) => ({ claim, answer: "absent" }) as const);
    const outcome = afterLookUp(own, "present", others, atMs);
    if (outcome.kind === "held") throw new Error("held");
    return async () => (await writeClaims(DB, { orgId, domain, read }, outcome.claims).run()).meta.changes;
  }

  it("O5: of two proofs at the same time one is written, and the other one, made again, is contested", async () => {
    for (const orgId of ["acme", "zeta"]) await insert(orgId, domain, "pending");
    const [first, second] = [await prove("acme", 10), await prove("zeta", 11)];
    expect([await second(), await first()]).toEqual([1, 0]);
    expect(await states()).toEqual(["acme pending", "zeta verified"]);
    expect(await (await prove("acme", 20))()).toBe(2);
    expect(await states()).toEqual(["acme contested", "zeta contested"]);
  });

  it("O5: a decision gives it to one, and the other one holds nothing", async () => {
    for (const orgId of ["acme", "zeta"]) await insert(orgId, domain, "contested");
    const read = await readClaims(DB, "zeta", domain);
    const own = read.find(({ orgId }) => orgId === "zeta")!;
    const decided = afterDecision(
      own,
      read.filter((claim) => claim !== own),
      30,
    );
    const { meta } = await writeClaims(DB, { orgId: "zeta", domain, read }, decided).run();
    expect([meta.changes, await states()]).toEqual([2, ["acme pending", "zeta verified"]]);
    expect(await readClaims(DB, "acme", domain)).toMatchObject([
      { orgId: "acme", state: "pending" },
      { orgId: "zeta", state: "verified", checkedAtMs: 30, verifiedAtMs: 30 },
    ]);
  });

  it("is not written when the claim was deleted, or looked up again, in between", async () => {
    await insert("acme", domain, "pending");
    const [slow, fast] = [await prove("acme", 10), await prove("acme", 11)];
    expect([await fast(), await slow()]).toEqual([1, 0]);
    const late = await prove("acme", 40);
    await DB.prepare("DELETE FROM organization_domains").run();
    expect([await late(), await states()]).toEqual([0, []]);
  });

  it("reads no claims of others that prove nothing", async () => {
    const many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)";
    await DB.prepare(
      `${many} INSERT INTO organizations (org_id, document, created_at_ms, updated_at_ms) SELECT 'o' || i, '{"name":"x"}', 1, 1 FROM n`,
    ).run();
    await DB.prepare(
      `${many} INSERT INTO organization_domains (org_id, domain, created_at_ms) SELECT 'o' || i, ?1, 1 FROM n`,
    )
      .bind(domain)
      .run();
    await insert("acme", domain, "verified");
    expect((await readClaims(DB, "o7", domain)).map(({ orgId }) => orgId)).toEqual(["acme", "o7"]);
    const counts = { rows: 0 };
    const counting = {
      prepare: (sql: string) => ({
        bind: (...values: unknown[]) => ({
          all: async () => {
            const result = await DB.prepare(sql)
              .bind(...values)
              .all();
            counts.rows += result.meta.rows_read;
            return result;
          },
        }),
      }),
    };
    await readClaims(counting as unknown as D1Database, "o7", domain);
    expect(counts.rows).toBeLessThan(10);
  });
});
