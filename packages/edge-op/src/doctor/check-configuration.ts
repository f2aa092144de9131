import { decodeJwt } from "jose";
import type { Finding } from "../console/findings.ts";
import type { Metadata } from "../tokens/explain-token.ts";
import type { Registration } from "./check-requests.ts";
import type { RelyingParty } from "./relying-party.ts";

/** **Checks the configuration by itself**, and against the metadata and, if it can be read, the registration. */
export function checkConfiguration(
  party: RelyingParty,
  metadata: Metadata,
  registered: Registration | undefined,
): Finding[] {
  return [
    ...checkScope(party, registered),
    ...checkAlgorithm(party, metadata, registered),
    ...checkAudience(party, registered),
  ];
}

/** The provider leaves out what is not registered; a requested resource may give further values. */
function checkScope({ scope, resource }: RelyingParty, registered: Registration | undefined): Finding[] {
  if (scope === undefined) return [];
  const requested = scope.split(" ");
  const openid: Finding = requested.includes("openid")
    ? { check: "openid", result: "right", text: "the scope contains openid" }
    : {
        check: "openid",
        result: "wrong",
        text: `the scope is "${scope}"`,
        mend: "Request the scope openid: without it there is no ID token, and /userinfo refuses the access token.",
      };
  if (registered?.scope === undefined || resource !== undefined) return [openid];
  const own = registered.scope.split(" ");
  const others = requested.filter((value) => !own.includes(value));
  if (others.length === 0) return [openid, { check: "scope", result: "right", text: "all of it is registered" }];
  const mend = `Request only scopes of the registration (${registered.scope}), or add them to it.`;
  return [
    openid,
    { check: "scope", result: "wrong", text: `${others.join(" ")} is not registered, and left out`, mend },
  ];
}

/** Without a registration, the algorithm must at least be one that the provider has. */
function checkAlgorithm(
  { id_token_signed_response_alg: expected }: RelyingParty,
  { id_token_signing_alg_values_supported: supported = [] }: Metadata,
  registered: Registration | undefined,
): Finding[] {
  if (expected === undefined) return [];
  const check = "algorithm";
  if (!supported.includes(expected)) {
    return [
      {
        check,
        result: "wrong",
        text: `${expected} is not supported`,
        mend: `Accept one of ${supported.join(", ")}; ID tokens are never signed with a secret.`,
      },
    ];
  }
  const actual = registered?.id_token_signed_response_alg;
  if (actual === undefined || actual === expected) return [{ check, result: "right", text: expected }];
  const mend = `Accept ${actual} in the library, or register id_token_signed_response_alg ${expected}.`;
  return [
    { check, result: "wrong", text: `the library accepts ${expected}, ID tokens are signed with ${actual}`, mend },
  ];
}

function checkAudience(
  { audience, access_token: token }: RelyingParty,
  registered: Registration | undefined,
): Finding[] {
  if (audience === undefined) return [];
  const check = "audience";
  const actual = token === undefined ? registered?.audiences : audiencesOf(token);
  if (actual === undefined)
    return [{ check, result: "unknown", text: "give --access-token, or sign in to read the registration" }];
  if (actual.includes(audience) || (token === undefined && actual.includes("*")))
    return [{ check, result: "right", text: audience }];
  const what = token === undefined ? "the client's audiences are" : "the aud of the token is";
  const mend = `Send resource=${audience} in the authorization request, and add it to the client's audiences or let the resource admit the client.`;
  return [
    { check, result: "wrong", text: `the API requires ${audience}, ${what} ${actual.join(" ") || "empty"}`, mend },
  ];
}

function audiencesOf(token: string): readonly string[] {
  try {
    return [decodeJwt(token).aud ?? []].flat();
  } catch {
    return [];
  }
}
