import type { Client, ClientMetadata } from "@edge-op/shared/directory/client";
import { expect, expectTypeOf, it } from "vitest";
import type { AuthorizationRequest, CodeRequest } from "../src/authorization/checks/authorization-request.ts";
import { isClientAssured } from "../src/authorization/is-client-assured.ts";

it("issue 11: an authorization request has no redirect URI; a request for a code adds it, with its other parameters", () => {
  expectTypeOf<AuthorizationRequest>().not.toHaveProperty("redirectUri");
  expectTypeOf<CodeRequest>().toExtend<AuthorizationRequest>();
  type OfTheCode = Exclude<keyof CodeRequest, keyof AuthorizationRequest>;
  expectTypeOf<OfTheCode>().toEqualTypeOf<
    "redirectUri" | "isSigned" | "responseMode" | "state" | "nonce" | "codeChallenge" | "dpopThumbprint"
  >();
});

it.each([
  ["client_secret_basic", "web", true],
  ["client_secret_basic", "native", true],
  ["none", "web", false],
  ["none", "native", false],
] as const)(
  "RFC 8252 §8.6: without a redirect URI, a client that authenticates by %s (%s) is assured: %s",
  (method, type, assured) => {
    const metadata = { token_endpoint_auth_method: method, application_type: type } as ClientMetadata;
    const client = { clientId: "app", status: "active", metadata } as Client;
    for (const issuer of ["https://op.example.com", "http://localhost:8787"]) {
      expect(isClientAssured({ issuer }, client, undefined), issuer).toBe(assured);
    }
  },
);
