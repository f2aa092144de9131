/** **Errors of upstream providers**: whatever code one sends, the person is told what happened, and never that its response could not be verified. */

import { beforeEach, describe, expect, it } from "vitest";
import { type FailureReason, reasonOf, requireCode } from "../src/upstream/failures.ts";
import { locationOf, stepOf, useDeployment } from "./fixtures/auth-fixtures.ts";
import { type Behaviour, StandInUpstream, seedUpstream, signInUpstream } from "./fixtures/stand-in-upstream.ts";

const { browser } = useDeployment({ skip_consent: true });

const cancelled = "You did not sign in at Example IdP.";
const unreachable = "Example IdP does not respond.";
const declined = "Example IdP refused this sign-in, or asks for something else first.";

type Parameters = Readonly<Record<string, string>>;

/** Codes of the registry, by document. */
const registered: Readonly<Record<string, readonly string[]>> = {
  "RFC 6749 §4.1.2.1": ["invalid_request", "unauthorized_client", "unsupported_response_type", "invalid_scope"],
  "RFC 6749 §5.2": ["invalid_client", "invalid_grant", "unsupported_grant_type"],
  "RFC 6750 §3.1": ["invalid_token", "insufficient_scope"],
  "OIDC Core §3.1.2.6": [
    ...["interaction_required", "login_required", "account_selection_required", "consent_required"],
    ...["invalid_request_uri", "invalid_request_object", "request_not_supported", "request_uri_not_supported"],
    "registration_not_supported",
  ],
  "Unmet Authentication Requirements": ["unmet_authentication_requirements"],
  "RFC 7591 §3.2.2": ["invalid_redirect_uri", "invalid_client_metadata", "unapproved_software_statement"],
  "RFC 8628 §3.5": ["authorization_pending", "expired_token"],
  "RFC 8707 §2": ["invalid_target"],
  "RFC 9396 §5": ["invalid_authorization_details"],
  "RFC 9449 §5": ["invalid_dpop_proof", "use_dpop_nonce"],
  "RFC 9470 §3": ["insufficient_user_authentication"],
  Google: ["org_internal", "admin_policy_enforced", "disallowed_useragent", "redirect_uri_mismatch", "deleted_client"],
  GitHub: ["application_suspended", "unverified_user_email"],
  Microsoft: ["invalid_resource", "no_account"],
  "a code of tomorrow": ["something_new"],
};

const asked: readonly (readonly [string, Parameters])[] = Object.entries(registered).flatMap(([source, codes]) =>
  codes.map((error) => [source, { error }] as const),
);

const atRedirect: readonly (readonly [string, Parameters, string])[] = [
  ...asked.map(([source, parameters]) => [source, parameters, declined] as const),
  ["RFC 6749 §4.1.2.1", { error: "access_denied" }, cancelled],
  ["RFC 6749 §4.1.2.1", { error: "server_error" }, unreachable],
  ["RFC 6749 §4.1.2.1", { error: "temporarily_unavailable" }, unreachable],
  ["RFC 8628 §3.5", { error: "slow_down" }, unreachable],
  ["Apple", { error: "user_cancelled_authorize" }, cancelled],
  ["LinkedIn", { error: "user_cancelled_login" }, cancelled],
  ["LinkedIn", { error: "user_cancelled_authorize" }, cancelled],
  ["Facebook", { error: "access_denied", error_code: "200", error_reason: "user_denied" }, cancelled],
  ["Facebook, without error", { error_code: "1349126", error_message: "App not active" }, declined],
  ["Microsoft", { error: "access_denied", error_subcode: "cancel" }, cancelled],
  ["Microsoft, declined", { error: "access_denied", error_description: "AADSTS65004: User declined" }, cancelled],
  ["Microsoft, declined", { error: "consent_required", error_description: "AADSTS65004: User declined" }, cancelled],
  ["Microsoft, not assigned", { error: "access_denied", error_description: "AADSTS50105: not assigned" }, declined],
  ["Microsoft, blocked", { error: "access_denied", error_description: "AADSTS53003: Blocked by policy" }, declined],
  ["Microsoft, an administrator", { error: "access_denied", error_description: "AADSTS90094: Needs admin" }, declined],
  ["Microsoft, away", { error: "temporarily_unavailable", error_description: "AADSTS90033: Try again" }, unreachable],
];

/** The text on the sign-in page. */
async function problemOf(upstream: StandInUpstream): Promise<string | undefined> {
  const location = locationOf(await signInUpstream(browser, await browser.pageOf(), upstream.install()));
  expect(stepOf(location)).toBe("sign-in");
  return /id="problem">([^<]*)</.exec(await (await browser.get(location)).text())?.[1];
}

beforeEach(async () => {
  await seedUpstream();
});

/** The text by the table alone. */
function textOf(sent: Parameters): string | undefined {
  const parameters = new URLSearchParams(sent);
  try {
    requireCode(parameters);
  } catch (error) {
    return texts[reasonOf(error, parameters)];
  }
}

const texts: Readonly<Partial<Record<FailureReason, string>>> = { cancelled, unreachable, declined };

describe("an error in the redirect back", () => {
  it.each(atRedirect)("%s: %j", (_, sent, text) => {
    expect(textOf(sent)).toBe(text);
  });

  it.each<[string, Parameters, string]>([
    ["Apple", { error: "user_cancelled_authorize" }, cancelled],
    ["OIDC Core §3.1.2.6", { error: "consent_required" }, declined],
    ["OIDC Core §3.1.2.6", { error: "server_error" }, unreachable],
    ["Facebook, without error", { error_code: "1349126", error_message: "App not active" }, declined],
  ])("leads to the sign-in page, which says so: %s", async (_, sent, text) => {
    const parameters = { code: undefined, ...sent };
    expect(await problemOf(new StandInUpstream({ parameters }))).toContain(text);
  });

  it("RFC 9207 §2.3: an error without iss, of a provider that sends it with codes", async () => {
    const parameters = { code: undefined, iss: undefined, error: "access_denied" };
    expect(await problemOf(new StandInUpstream({ parameters }))).toContain(cancelled);
  });
});

describe("an error of the token endpoint", () => {
  const answered = (status: number, body: unknown): Behaviour => ({
    responses: { "/token": () => Response.json(body, { status }) },
  });

  it.each<[string, Behaviour, string]>([
    ["RFC 6749 §5.2: invalid_grant", answered(400, { error: "invalid_grant" }), declined],
    ["a client that is unknown, with 401", answered(401, { error: "invalid_client" }), declined],
    ["temporarily_unavailable", answered(400, { error: "temporarily_unavailable" }), unreachable],
    ["GitHub's, with the status 200", answered(200, { error: "bad_verification_code" }), declined],
    ["Facebook's, an object", answered(400, { error: { type: "OAuthException", code: 100 } }), declined],
    ["a page", { responses: { "/token": () => new Response("<h1>No", { status: 403 }) } }, declined],
    ["429", answered(429, {}), unreachable],
  ])("%s", async (_, behaviour, text) => {
    expect(await problemOf(new StandInUpstream(behaviour))).toContain(text);
  });
});
