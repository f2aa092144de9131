import { expect, it } from "vitest";
import { cutOffKeys, grantSubject, rowKeys } from "../../src/leases/revocation-subject.ts";

it("the row of a grant, and cut-offs of its user and its client, revoke the subject of the grant", () => {
  const address = { generation: 1, region: "wnam", shard: 2 };
  const grant = { grantId: "grant", address };
  const subject = grantSubject(grant, { sub: "alice", clientId: "app" });
  expect(subject).toEqual({ ...grant, jti: "grant", sub: "alice", clientId: "app", lineage: [] });
  expect(rowKeys(subject)).toContain("g:grant");
  expect(cutOffKeys(subject)).toEqual(["nb:sub:alice", "nb:client:app", "nb:tenant:default"]);
});
