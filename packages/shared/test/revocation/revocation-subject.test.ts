import { cutOffKeys, grantSubject, rowKeys } from "@edge-op/shared/revocation/revocation-subject";
import { expect, it } from "vitest";

it("the subject of a grant is revoked by the grant's row and by cut-offs of its user and its client", () => {
  const address = { generation: 1, region: "wnam", shard: 2 };
  const grant = { grantId: "grant", address };
  const subject = grantSubject(grant, { sub: "alice", clientId: "app" });
  expect(subject).toEqual({ ...grant, jti: "grant", sub: "alice", clientId: "app", lineage: [] });
  expect(rowKeys(subject)).toContain("g:grant");
  expect(cutOffKeys(subject)).toEqual(["nb:sub:alice", "nb:client:app", "nb:tenant:default"]);
});
