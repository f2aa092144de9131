import { describeClockFault } from "@edge-op/protocol/encoding/seconds";
import { decodeClaims, decodeJwt, isTokenType, type JwtClaims } from "@edge-op/protocol/jwt/decode-claims";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { type Client, isPublicClient } from "@edge-op/shared/clients/client";
import { isFapi } from "@edge-op/shared/clients/security-profile";
import type { Form, FormReader } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { idJagType, issuerOf } from "@edge-op/shared/issuers/check-token";
import type { TokenEnv } from "@edge-op/workers/env";
import type { TokenIsolate } from "../isolate.ts";
import { type AcceptedToken, acceptToken } from "./accept-token.ts";

/**
 * **An assertion of a trusted issuer** (RFC 7523 §2.1): a workload's assertion, which may be sent without client authentication, or an ID-JAG,
 * distinguished by its `typ`. An ID-JAG is for one client, which must authenticate, and for the resources that it names.
 *
 * @see https://datatracker.ietf.org/doc/html/draft-ietf-oauth-identity-assertion-authz-grant-04
 */
export interface AcceptedAssertion extends AcceptedToken {
  /** The targets to issue for: the requested ones, or those of the ID-JAG; both empty if neither names one. */
  readonly audiences: readonly string[];
  readonly resources: readonly string[];
}

type AssertionForm = FormReader<"assertion" | "audience" | "resource">;

/** Says who must act, and not which issuers are trusted (draft-carleton-workload-authz-grant-02 §7, §9). */
const description =
  "The assertion is invalid, its issuer is not trusted, or no rule accepts it. An administrator of this provider finds the reason in the log, by the Request-Id.";

function refuse(reason: RefusalReason, detail?: string, clock?: string): OAuthError {
  return new OAuthError("invalid_grant", reason, {
    detail,
    description: describeClockFault("assertion", clock) ?? description,
  });
}

/** `client` is `undefined` without client authentication. */
export async function acceptAssertion(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  form: AssertionForm,
  client: Client | undefined,
): Promise<AcceptedAssertion> {
  const token = form.require("assertion");
  const decoded = decodeJwt(token);
  if (decoded === undefined) throw refuse("assertion-not-jwt");
  const isIdJag = isTokenType(decoded.header.typ, [idJagType]);
  if (isIdJag) requireOwnIdJag(decoded.claims, client);
  const audiences = [...new Set(form.all("audience"))];
  const requested = [...new Set(form.all("resource"))];
  const resources = isIdJag ? boundResources(decoded.claims, requested) : requested;
  const use = isIdJag ? "id_jag" : "assertion";
  const presentation = { use, clientId: client?.clientId, audiences, resources } as const;
  const accepted = await acceptToken(context, isolate, { token }, presentation, refuse);
  return { ...accepted, audiences, resources };
}

/** Accepts an ID-JAG only from the client that its `client_id` names, which must authenticate (draft §4.4, §9.1). */
function requireOwnIdJag(claims: JwtClaims, client: Client | undefined): void {
  if (client === undefined || isPublicClient(client)) {
    throw new OAuthError("invalid_client", "id-jag-client-authentication");
  }
  if (claims["client_id"] !== client.clientId) throw refuse("id-jag-client");
}

/** The requested resources within those of the ID-JAG; without a request, all of those. */
function boundResources(claims: JwtClaims, requested: readonly string[]): readonly string[] {
  const { resource } = claims;
  if (resource === undefined) return requested;
  const named: readonly unknown[] = Array.isArray(resource) ? resource : [resource];
  if (!isTexts(named) || named.length === 0) throw refuse("id-jag-malformed");
  if (requested.some((value) => !named.includes(value))) {
    throw new OAuthError("invalid_target", "id-jag-resource");
  }
  return requested.length > 0 ? requested : [...new Set(named)];
}

function isTexts(values: readonly unknown[]): values is readonly string[] {
  return values.every((value) => typeof value === "string");
}

const credentials = ["client_id", "client_secret", "client_assertion", "client_assertion_type"];

/** Whether a request has an assertion instead of client authentication (RFC 7521 §4.1: it is optional). */
export function isWorkloadRequest(request: ReceivedRequest, form: Form): boolean {
  return (
    form.get("grant_type") === "urn:ietf:params:oauth:grant-type:jwt-bearer" &&
    form.get("assertion") !== undefined &&
    request.headers.get("authorization") === null &&
    credentials.every((name) => form.all(name).length === 0 && !form.repeated.has(name))
  );
}

/**
 * **The client of a workload without a secret**: the client that the matching rule names. Failures are counted by address like failed client
 * authentications, before the issuer is looked up if that costs calls. Cost warm: 0 calls, 1 verification.
 *
 * @see https://github.com/modelcontextprotocol/modelcontextprotocol/issues/1933
 */
export async function authenticateWorkload(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  request: ReceivedRequest,
  form: Form,
): Promise<{ readonly client: Client; readonly accepted: AcceptedAssertion }> {
  const name = issuerOf(decodeClaims(form.require("assertion")) ?? {});
  const isKnown = name !== undefined && isolate.issuers.isHeld(context, name);
  if (!isKnown) isolate.rateShield.countFailedAuthentication(context, request);
  try {
    const found = await findClient(context, isolate, form);
    if (!isKnown) isolate.rateShield.discountAuthentication(context, request);
    return found;
  } catch (error) {
    if (isKnown && error instanceof OAuthError) isolate.rateShield.countFailedAuthentication(context, request);
    throw error;
  }
}

async function findClient(context: RequestContext<TokenEnv>, isolate: TokenIsolate, form: Form) {
  const accepted = await acceptAssertion(context, isolate, form, undefined);
  const { client_id: clientId } = accepted.rule;
  const client = clientId === undefined ? undefined : await isolate.clients.find(context, clientId);
  if (client?.status !== "active") {
    throw new OAuthError("invalid_grant", "issuer-rule-client");
  }
  if (isFapi(context.settings, client)) {
    throw new OAuthError("invalid_client", "fapi-workload");
  }
  context.progress.clientId = client.clientId;
  isolate.rateShield.countRequest(context, "/token", client.clientId);
  return { client, accepted };
}
