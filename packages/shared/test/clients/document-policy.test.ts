import { expect, it } from "vitest";
import { documentPolicy, isDocumentHost, isDocumentUrl } from "../../src/clients/document-policy.ts";
import { parseHostPolicies } from "../../src/config/setting-values.ts";

const settings = {
  issuer: "https://op.example.com",
  clientDocuments: "allow",
  clientDocumentHosts: parseHostPolicies("CLIENT_DOCUMENT_HOSTS", "deny=evil.example deny=*.evil.example"),
} as const;

it("ADR 47: a denied host is denied in its only spelling", () => {
  for (const id of ["https://evil.example/client", "https://a.evil.example/client", "https://a.b.evil.example/c?x=1"]) {
    expect([isDocumentUrl(id, settings), documentPolicy(id, settings)]).toEqual([true, "deny"]);
  }
  expect(documentPolicy("https://notevil.example/client", settings)).toBe("allow");
});

it.each([
  ["a final dot", "https://evil.example./client"],
  ["two final dots", "https://evil.example../client"],
  ["an ideographic full stop at its end", "https://evil.example\u3002/client"],
  ["an encoded final dot", "https://evil.example%2e/client"],
  ["upper case", "https://Evil.example/client"],
  ["an upper-case scheme", "HTTPS://evil.example/client"],
  ["the default port", "https://evil.example:443/client"],
  ["an empty port", "https://evil.example:/client"],
  ["full-width letters", "https://\uff45vil.example/client"],
  ["a soft hyphen", "https://ev\u00adil.example/client"],
  ["an encoded letter", "https://%65vil.example/client"],
  ["another script", "https://b\u00fccher.example/client"],
  ["a user", "https://a@evil.example/client"],
  ["a backslash", "https:\\\\evil.example\\client"],
  ["dot segments", "https://evil.example/./client"],
  ["no path", "https://evil.example"],
])("draft-ietf-oauth-client-id-metadata-document §3: a client_id with %s is not a document", (_, id) => {
  expect(isDocumentUrl(id, settings)).toBe(false);
});

it("a policy that names a host in another spelling is refused, because it would never apply", () => {
  for (const host of ["evil.example.", "*.evil.example.", "Evil.example", "b\u00fccher.example", "evil.example:443"]) {
    expect(isDocumentHost(host)).toBe(false);
    expect(() => parseHostPolicies("CLIENT_DOCUMENT_HOSTS", `deny=${host}`)).toThrow("CLIENT_DOCUMENT_HOSTS must be");
  }
});
