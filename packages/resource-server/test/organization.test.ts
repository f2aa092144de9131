import { expect, it } from "vitest";
import { requireOrganization } from "../src/resource-server.ts";

const auth = { audience: "https://api.example.com" };

it("a token of the organisation passes", () => {
  expect(requireOrganization(auth, { org_id: "acme" }, "acme")).toBeUndefined();
});

it.each([
  ["another organisation", { org_id: "beta" }, "acme"],
  ["none", {}, "acme"],
  ["a list, which no token of the provider has", { org_id: ["acme"] }, "acme"],
  ["none, where the data has none either", { org_id: "" }, ""],
])("hostile case 1: a token of %s is 403 at an API for one", async (_, claims, organization) => {
  const response = requireOrganization(auth, claims, organization);
  expect([response?.status, response?.headers.get("www-authenticate")]).toEqual([
    403,
    'Bearer error="insufficient_scope", error_description="The token does not belong to this organization.", resource_metadata="https://api.example.com/.well-known/oauth-protected-resource"',
  ]);
});
