import { type GrantType, grantTypes } from "@edge-op/protocol/oauth/registered-names";
import { expect, it } from "vitest";
import { grantModules } from "../src/grants.ts";

it("every grant type that a client can register and discovery announces has one module", () => {
  expect(grantModules.map(({ type }) => type).toSorted()).toEqual(grantTypes.toSorted());
});

/** The parameters of every grant type; a grant type without an entry does not compile. */
const parametersOf: Readonly<Record<GrantType, readonly string[]>> = {
  authorization_code: ["code", "redirect_uri", "code_verifier", "resource", "authorization_details"],
  refresh_token: ["refresh_token", "scope", "resource", "authorization_details", "organization"],
  "urn:ietf:params:oauth:grant-type:device_code": ["device_code", "resource", "authorization_details"],
  client_credentials: ["scope", "audience", "resource", "authorization_details"],
  "urn:ietf:params:oauth:grant-type:token-exchange": [
    ...["subject_token", "subject_token_type", "actor_token", "actor_token_type", "requested_token_type"],
    ...["scope", "audience", "resource", "authorization_details", "organization"],
  ],
  "urn:ietf:params:oauth:grant-type:jwt-bearer": [
    "assertion",
    "scope",
    "audience",
    "resource",
    "authorization_details",
  ],
};

it.each(grantModules)("$type reads its own parameters and no other", ({ type, parameters }) => {
  expect(parameters).toEqual(parametersOf[type]);
});
