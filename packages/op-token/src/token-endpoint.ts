import { decodeJwt } from "@edge-op/protocol/jwt/decode-claims";
import { type ClientCertificate, readClientCertificate } from "@edge-op/protocol/mtls/client-certificate";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { GrantType } from "@edge-op/protocol/oauth/grant-types";
import { shownValue } from "@edge-op/protocol/oauth/shown-value";
import { authenticateClient, authenticatedUntilMs, countRequestOf } from "@edge-op/shared/callers/authenticate-client";
import { type ProvenKey, readProof } from "@edge-op/shared/callers/require-proof";
import type { Client } from "@edge-op/shared/clients/client";
import { isFapi } from "@edge-op/shared/clients/security-profile";
import { settle } from "@edge-op/shared/control/settle";
import { JsonResponse } from "@edge-op/shared/http/json-response";
import { type Form, readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { rulesOfParties } from "@edge-op/shared/issuers/trusted-issuer";
import type { TokenEnv } from "@edge-op/workers/env";
import { authenticateWorkload, isWorkloadRequest } from "./external/authenticate-workload.ts";
import type { Grant, GrantRequest, TokenResponse } from "./grant.ts";
import { authorizationCode } from "./grants/authorization-code.ts";
import { clientCredentials } from "./grants/client-credentials.ts";
import { deviceCode } from "./grants/device-code.ts";
import { jwtBearer } from "./grants/jwt-bearer.ts";
import { refreshToken } from "./grants/refresh-token.ts";
import { tokenExchange } from "./grants/token-exchange.ts";
import type { TokenIsolate } from "./isolate.ts";

/**
 * **`POST /token`.** Cost of a warm request (object / KV / D1 calls): client_credentials, token exchange and jwt-bearer
 * 0/0/0 (`direct` 1/0/0), refresh 1/0/0, authorization code 3/0/0 at most, a poll with a device code 1/0/0; a client assertion adds 1 object call, and so does a DPoP proof
 * (`DPOP_SINGLE_USE=isolate`: none) beside its verification. Client credentials and exchanges that equal one of the last seconds are not
 * decided again (control/remembered-decisions.ts), only checked for revocation, counted and signed.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-3.2
 */
export const grants: readonly Grant[] = [
  authorizationCode,
  refreshToken,
  clientCredentials,
  deviceCode,
  tokenExchange,
  jwtBearer,
];

const grantsByType: ReadonlyMap<string, Grant> = new Map(grants.map((grant) => [grant.type, grant]));

const path = "/token";

/** RFC 6749 §5.1 requires it beside `no-store` in every response that holds a token. */
const tokenHeaders = { Pragma: "no-cache" } as const;

export async function tokenEndpoint(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  request: ReceivedRequest,
): Promise<JsonResponse> {
  const { decisions } = isolate;
  const form = decisions.find(context, path, request) === undefined ? readForm(request) : undefined;
  const response = await settle(context, isolate, (confirm) => {
    const known = form === undefined ? decisions.find<PlannedIssue>(context, path, request) : undefined;
    if (known !== undefined) return issueAgain(context, isolate, known, confirm);
    return issue(context, isolate, request, form ?? readForm(request), confirm);
  });
  reportToken(context, isolate, response);
  isolate.clients.noteUse(context, response.client);
  return new JsonResponse(response.issued, { headers: tokenHeaders });
}

async function issue(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  request: ReceivedRequest,
  form: Form,
  confirm: () => Promise<void>,
): Promise<IssuedResponse> {
  const { client, accepted } = await identifyClient(context, isolate, request, form);
  const grant = requireGrant(client, form);
  const certificate = await readClientCertificate(context, request);
  const proof = await requireProof(context, isolate, client, request, certificate);
  const grantRequest: GrantRequest<string> = {
    context,
    isolate,
    client,
    proof,
    certificate,
    accepted,
    form: form.only(grant.parameters),
    confirm: async () => {
      await confirm();
      await proof?.spend();
    },
  };
  const issued = await grant.issue(grantRequest, (plan, endsAtMs) => {
    const hasMore = proof !== undefined || certificate !== undefined || accepted !== undefined;
    const untilMs = hasMore ? undefined : authenticatedUntilMs(client, context.arrivedAtMs);
    if (untilMs === undefined) return;
    const decision: PlannedIssue = { client, grantType: grant.type, plan };
    isolate.decisions.add(context, path, request, { decision, endsAtMs: Math.min(untilMs, endsAtMs) });
  });
  return { issued, grant, client };
}

/** What is remembered of a request whose tokens were due, until they are not by records or time. */
interface PlannedIssue {
  readonly client: Client;
  readonly grantType: GrantType;
  readonly plan: object;
}

async function issueAgain(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  { client, grantType, plan }: PlannedIssue,
  confirm: () => Promise<void>,
): Promise<IssuedResponse> {
  countRequestOf(context, isolate, client, path);
  const grant = grantsByType.get(grantType)!;
  const issued = await grant.issueAgain!({ context, isolate, client, proof: undefined, confirm }, plan);
  return { issued, grant, client };
}

/** The client that has authenticated, or that the rule of a trusted issuer names for a workload without a secret. */
async function identifyClient(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  request: ReceivedRequest,
  form: Form,
): Promise<Pick<GrantRequest, "client" | "accepted">> {
  if (isWorkloadRequest(request, form)) return authenticateWorkload(context, isolate, request, form);
  return { client: await authenticateClient(context, isolate, request, form, path) };
}

interface IssuedResponse {
  readonly issued: TokenResponse;
  readonly grant: Grant;
  readonly client: Client;
}

/** The redemption of a code or a device code has an event of its own (op-state). The subject is the one in the token. */
function reportToken(context: RequestContext<TokenEnv>, isolate: TokenIsolate, response: IssuedResponse): void {
  const { issued, grant, client } = response;
  if (grant.type === "authorization_code" || grant === deviceCode) return;
  isolate.issuedTokens.note(context, () => {
    const { sub, grant_client: grantClient, via } = decodeJwt(issued.access_token)?.claims ?? {};
    const issuerRules = rulesOfParties([grantClient, ...(Array.isArray(via) ? via : [])]);
    return {
      atMs: context.arrivedAtMs,
      grantType: grant.type,
      clientId: client.clientId,
      sub: typeof sub === "string" ? sub : undefined,
      scope: issued.scope,
      ...(issuerRules.length === 0 ? {} : { issuerRules }),
      address: context.network,
      requestId: context.requestId,
    };
  });
}

/**
 * The key that tokens are bound to: of the DPoP proof, or of the certificate if the client is registered for that. A client that is registered for
 * one kind must prove that kind, whatever else it proves (RFC 9449 §5.2, RFC 8705 §3.4); one with FAPI 2.0 either kind (§5.3.2.1 item 4).
 */
async function requireProof(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  client: Client,
  request: ReceivedRequest,
  certificate: ClientCertificate | undefined,
): Promise<ProvenKey | undefined> {
  const { metadata } = client;
  const proof = await readProof(context, isolate, request, {
    path,
    client,
    refuse: (code, reason, options) => new OAuthError(code, reason, options),
  });
  if (metadata.dpop_bound_access_tokens === true && proof === undefined) {
    throw new OAuthError("invalid_dpop_proof", "dpop-proof-required", {
      description: "The client is registered for DPoP-bound tokens: a DPoP proof is required.",
    });
  }
  const isCertificateBound = metadata.tls_client_certificate_bound_access_tokens === true;
  if (isCertificateBound && certificate === undefined) {
    throw new OAuthError("invalid_request", "certificate-required", {
      description: "The client is registered for certificate-bound tokens: a client certificate is required.",
    });
  }
  // A token has one key: that of the proof, if there is one (ADR 37).
  if (proof !== undefined) return proof;
  const mustBind = isFapi(context.settings, client);
  if (certificate !== undefined && (isCertificateBound || mustBind)) return certificateProof(certificate);
  if (!mustBind) return undefined;
  throw new OAuthError("invalid_request", "fapi-token-not-bound", {
    description: "A DPoP proof or a client certificate is required: the client's tokens must be sender-constrained.",
  });
}

/** The handshake has proven the key for the whole connection: nothing is spent. */
function certificateProof({ thumbprint }: ClientCertificate): ProvenKey {
  return { cnf: { method: "x5t#S256", thumbprint }, spend: async () => {} };
}

function requireGrant(client: Client, form: Form): Grant {
  const grantType = form.require("grant_type");
  const grant = grantsByType.get(grantType);
  if (grant === undefined) {
    throw new OAuthError("unsupported_grant_type", "grant-type-unknown", {
      description: `The grant type ${shownValue(grantType)} is not supported.`,
    });
  }
  if (!client.metadata.grant_types.includes(grant.type)) {
    throw new OAuthError("unauthorized_client", "grant-type-not-registered", {
      description: `The client is not registered for the grant type ${grantType}.`,
    });
  }
  return grant;
}
