import { describe, expect, it } from "vitest";
import { type CutOff, combineCutOffs } from "../../src/cut-offs/cut-offs.ts";
import { newGrantId, readGrantVersions } from "../../src/grants/grant.ts";
import { isCutOff, type RevocationSubject } from "../../src/leases/revocation-subject.ts";
import { CutOffSimulation, cutOffMutants, type Mutation } from "./cut-off-simulation.ts";

const histories = 100;
const mutantHistories = 3_000;

async function violations(mutation: Mutation): Promise<readonly string[]> {
  const found: string[] = [];
  for (let seed = 1; seed <= histories; seed += 1) {
    found.push(...(await new CutOffSimulation(seed, mutation).run()).map((text) => `seed ${seed}: ${text}`));
  }
  return found;
}

describe("ADR 28: cut-offs are ordered by control versions, and remain in the records after the shards have deleted them", () => {
  it("every grant from before a change is revoked, and none from after its acknowledgement, regardless of clocks", async () => {
    expect(await violations({})).toEqual([]);
  });

  it.each(Object.entries(cutOffMutants))("%s: caught", async (_, [mutation, expected]) => {
    let isCaught = false;
    for (let seed = 1; seed <= mutantHistories && !isCaught; seed += 1) {
      isCaught = (await new CutOffSimulation(seed, mutation).run()).some((text) => text.includes(expected));
    }
    expect(isCaught).toBe(true);
  });
});

const subject = (grantId: string): RevocationSubject => ({
  address: { generation: 1, region: "wnam", shard: 0 },
  jti: grantId,
  grantId,
  sub: "alice",
  clientId: "app",
  lineage: [],
});
const cutOff = (key: string, version: number, untilMs = 9_000): CutOff => ({ key, version, untilMs });

describe("the versions of a grant", () => {
  it.each([
    [{ client: 7, user: 7 }, /^[\w-]{22}7$/],
    [{ client: 1_000, user: 35 }, /^[\w-]{22}rs-z$/],
    [{ client: Number.MAX_SAFE_INTEGER, user: 0 }, /^[\w-]{22}2gosa7pa2gv-0$/],
  ])("%o are in the grant's id", (versions, expected) => {
    const id = newGrantId(versions);
    expect(id).toMatch(expected);
    expect(readGrantVersions(id)).toEqual(versions);
  });

  it("are missing in an id of another form, which every cut-off revokes", () => {
    const id = "AAAAAAAAAAAAAAAAAAAAAA";
    expect(readGrantVersions(id)).toEqual({ client: 0, user: 0 });
    expect(isCutOff(subject(id), cutOff("nb:sub:alice", 1))).toBe(true);
  });
});

describe("a cut-off", () => {
  it("of a user applies by the sign-in, of a client by the decision, of the tenant by the older one", () => {
    const id = subject(newGrantId({ client: 10, user: 5 }));
    expect(isCutOff(id, cutOff("nb:sub:alice", 5))).toBe(false);
    expect(isCutOff(id, cutOff("nb:sub:alice", 6))).toBe(true);
    expect(isCutOff(id, cutOff("nb:client:app", 10))).toBe(false);
    expect(isCutOff(id, cutOff("nb:client:app", 11))).toBe(true);
    expect(isCutOff(id, cutOff("nb:tenant:default", 5))).toBe(false);
    expect(isCutOff(id, cutOff("nb:tenant:default", 6))).toBe(true);
  });

  it("combines in any order with the same result", () => {
    const three = [cutOff("k", 7, 3), cutOff("k", 5, 5), cutOff("k", 6, 4)];
    const orders = [
      [0, 1, 2],
      [2, 1, 0],
      [1, 0, 2],
      [0, 0, 2, 1],
    ];
    const combined = orders.map((order) => order.map((index) => three[index]!).reduce(combineCutOffs));
    for (const one of combined) expect(one).toEqual({ key: "k", untilMs: 5, version: 7 });
  });
});
