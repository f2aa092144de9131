import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { Client, ClientMetadata } from "@edge-op/shared/clients/client";
import { Form } from "@edge-op/shared/http/read-form";
import { expect, expectTypeOf, it } from "vitest";
import type { AuthorizationRequest, CodeRequest } from "../src/authorization/authorization-request.ts";
import { checkPkce } from "../src/authorization/check-proofs.ts";
import { isClientAssured } from "../src/consent/requested-access.ts";

it("an authorization request has no redirect URI; a request for a code adds it, with its other parameters", () => {
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

/** A request by its challenge, nonce and scope. */
const shapes = [true, false].flatMap((challenge) =>
  [true, false].flatMap((nonce) => [true, false].map((openid) => ({ challenge, nonce, openid }))),
);
type Shape = (typeof shapes)[number];
const withChallenge = ({ challenge }: Shape) => challenge;
const withNonce = ({ challenge, nonce, openid }: Shape) => challenge || (nonce && openid);
const any = () => true;

const publicClient = { token_endpoint_auth_method: "none" } as const;
const keyed = { token_endpoint_auth_method: "private_key_jwt" } as const;
const fapi = { ...keyed, security_profile: "fapi2" } as const;
const signing = { ...keyed, security_profile: "fapi2_message_signing" } as const;

it.each<[string, Partial<Client>, Partial<ClientMetadata>, "none" | "fapi2", (shape: Shape) => boolean]>([
  ["a confidential client", {}, {}, "none", withNonce],
  ["one that registered itself", { origin: "registration" }, {}, "none", withNonce],
  ["one of a metadata document", { origin: "document" }, keyed, "none", withNonce],
  ["one with require_pkce", {}, { require_pkce: true }, "none", withChallenge],
  ["one with require_pkce false", {}, { require_pkce: false }, "none", any],
  ["a public client", {}, publicClient, "none", withChallenge],
  ["a public client with require_pkce false", {}, { ...publicClient, require_pkce: false }, "none", withChallenge],
  ["a public client that registered itself", { origin: "registration" }, publicClient, "none", withChallenge],
  ["a public client of a metadata document", { origin: "document" }, publicClient, "none", withChallenge],
  ["a client with FAPI 2.0", {}, fapi, "none", withChallenge],
  ["a client with Message Signing", {}, signing, "none", withChallenge],
  ["a client with FAPI 2.0 and require_pkce false", {}, { ...fapi, require_pkce: false }, "none", withChallenge],
  ["a client of a deployment with FAPI 2.0", {}, keyed, "fapi2", withChallenge],
  ["one with require_pkce false", {}, { ...keyed, require_pkce: false }, "fapi2", withChallenge],
])(
  "OAuth 2.1 §7.5.2: %s: which of challenge, nonce and openid a request needs (%j, %j, %s)",
  (_, more, metadata, securityProfile, accepts) => {
    const client = { metadata: { token_endpoint_auth_method: "client_secret_basic", ...metadata }, ...more } as Client;
    const codeChallenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    for (const shape of shapes) {
      const given: [string, string[]][] = [
        ...(shape.challenge
          ? ([
              ["code_challenge", [codeChallenge]],
              ["code_challenge_method", ["S256"]],
            ] as const)
          : []),
        ...(shape.nonce ? ([["nonce", ["n"]]] as const) : []),
      ].map(([name, values]) => [name, [...values]]);
      const input = { context: { settings: { securityProfile } }, client, parameters: new Form(new Map(given)) };
      const check = () => checkPkce(input, shape.openid ? ["openid", "email"] : ["email"]);
      if (accepts(shape)) {
        // A challenge binds the code even if it was not required.
        expect(check(), JSON.stringify(shape)).toEqual({ codeChallenge: shape.challenge ? codeChallenge : undefined });
      } else {
        expect(check, JSON.stringify(shape)).toThrow(OAuthError);
      }
    }
  },
);
