import { grantTypes } from "@edge-op/shared/oauth/grant-types";
import { expect, it } from "vitest";
import { grants } from "../src/token-endpoint.ts";

it("every grant type that a client can register and discovery announces has one module", () => {
  expect(grants.map(({ type }) => type).toSorted()).toEqual(grantTypes.toSorted());
});

it.each([
  ["authorization_code", ["code", "redirect_uri", "code_verifier", "resource"]],
  ["refresh_token", ["refresh_token", "scope", "resource"]],
  ["client_credentials", ["scope", "audience", "resource"]],
  [
    "urn:ietf:params:oauth:grant-type:token-exchange",
    [
      ...["subject_token", "subject_token_type", "actor_token", "actor_token_type", "requested_token_type"],
      ...["scope", "audience", "resource"],
    ],
  ],
  ["urn:ietf:params:oauth:grant-type:jwt-bearer", ["assertion", "scope", "audience", "resource"]],
])("%s reads its own parameters and no other", (type, parameters) => {
  expect(grants.find((grant) => grant.type === type)?.parameters).toEqual(parameters);
});
