import { readClientCertificate } from "@edge-op/protocol/mtls/client-certificate";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { GrantType } from "@edge-op/protocol/oauth/grant-types";
import { shownValue } from "@edge-op/protocol/oauth/shown-value";
import {
  authenticateClient,
  authenticatedUntilMs,
  countRequestOf,
  namedClientId,
} from "@edge-op/shared/callers/authenticate-client";
import { type ReadAheadNames, readAhead } from "@edge-op/shared/callers/read-ahead";
import type { ProvenKey } from "@edge-op/shared/callers/read-proof";
import type { Client } from "@edge-op/shared/clients/client";
import { openCode } from "@edge-op/shared/codes/sealed-code";
import type { Repeatable } from "@edge-op/shared/control/remembered-decisions";
import { type OpenDecision, settle } from "@edge-op/shared/control/settle";
import type { AuthorizedGrant } from "@edge-op/shared/grants/grant";
import { JsonResponse } from "@edge-op/shared/http/json-response";
import { type Form, readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { readRefreshToken } from "@edge-op/shared/refresh/refresh-token";
import { peekAccessToken } from "@edge-op/shared/tokens/access-token";
import type { TokenEnv } from "@edge-op/workers/env";
import { authenticateWorkload, isWorkloadRequest } from "./external/authenticate-workload.ts";
import type { GrantModule, GrantRequest, TokenResponse } from "./grant-module.ts";
import { authorizationCode } from "./grants/authorization-code.ts";
import { clientCredentials } from "./grants/client-credentials.ts";
import { deviceCode } from "./grants/device-code.ts";
import { jwtBearer } from "./grants/jwt-bearer.ts";
import { refreshToken } from "./grants/refresh-token.ts";
import { tokenExchange } from "./grants/token-exchange.ts";
import type { TokenIsolate } from "./isolate.ts";
import { namedValues } from "./issuing/requested-target.ts";
import { requireProof } from "./issuing/require-proof.ts";
import { reportIssued } from "./report-issued.ts";

export const grantModules: readonly GrantModule[] = [
  authorizationCode,
  refreshToken,
  clientCredentials,
  deviceCode,
  tokenExchange,
  jwtBearer,
];

const modulesByType: ReadonlyMap<string, GrantModule> = new Map(grantModules.map((module) => [module.type, module]));

const path = "/token";

/** RFC 6749 §5.1 requires it beside `no-store` in every response that contains a token. */
const tokenHeaders = { Pragma: "no-cache" } as const;

/**
 * **`POST /token`.** Cost of a warm request (object / KV / D1 calls): client_credentials, token exchange and jwt-bearer
 * 0/0/0 (`direct` 1/0/0), refresh 1/0/0, authorization code 1/0/0, a poll with a device code 1/0/0; a client assertion adds 1 object call, and so does a DPoP proof
 * (`DPOP_SINGLE_USE=isolate`: none) beside its verification. Calls that follow one another in a cold isolate, after a pause, in a busy one:
 * client_credentials and token exchange 2/1/0, refresh and authorization code 2/1/1, redemption of a device code 4/3/2.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-3.2
 */
export async function tokenEndpoint(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  request: ReceivedRequest,
): Promise<JsonResponse> {
  const decide = isolate.decisions.around(context, path, request, {
    read: () => readForm(request),
    decide: (form) => decideRequest(context, isolate, request, form),
    again: ({ client }) => countRequestOf(context, isolate, client, path),
  });
  const { type, client, issued } = await settle(
    context,
    isolate,
    async (open) => {
      const decision = await decide();
      return { ...decision, issued: await issueTokens(context, isolate, decision, open) };
    },
    { readAhead: () => readNamed(context, isolate, request, readForm(request)) },
  );
  reportIssued(context, isolate, type, client, issued);
  isolate.clients.noteUse(context, client);
  return new JsonResponse(issued, { headers: tokenHeaders });
}

/** The code and tokens of a request that may name users of this provider. */
const tokenParameters = ["subject_token", "actor_token", "refresh_token", "code"];

/** Reads the records ahead that the request's text names. */
function readNamed(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  request: ReceivedRequest,
  form: Form,
): void {
  const named = { clientIds: [namedClientId(request, form)], resources: namedValues(form) };
  const tokens = tokenParameters.flatMap((name) => form.get(name) ?? []);
  readAhead(context, isolate, request, named, ...tokens.map((token) => namedByToken(context, token)));
}

async function namedByToken(context: RequestContext<TokenEnv>, token: string): Promise<ReadAheadNames> {
  const code = await openCode(context.env, token);
  if (code !== undefined) return namedByLogin(code.payload);
  const refreshToken = await readRefreshToken(context, token);
  if (refreshToken !== undefined) {
    return namedByLogin({ sub: refreshToken.sub, resources: refreshToken.initial?.family.resources ?? [] });
  }
  const named = await peekAccessToken(context, token);
  if (named === undefined) return {};
  // Without a requested target, that of the subject token is kept.
  const resources = named.audiences.filter((audience) => audience !== context.settings.issuer);
  return { resources, users: named.forUser ? [{ sub: named.sub, withRbac: true }] : [] };
}

function namedByLogin({ sub, resources }: Pick<AuthorizedGrant, "sub" | "resources">): ReadAheadNames {
  return { resources, users: [{ sub, withRbac: true, isVerified: true }] };
}

/** The tokens that are due, and their client. */
interface Decision extends Repeatable {
  readonly type: GrantType;
  readonly client: Client;
  readonly proof: ProvenKey | undefined;
  readonly due: Repeatable;
}

async function decideRequest(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  request: ReceivedRequest,
  form: Form,
): Promise<Decision> {
  const { client, accepted } = await identifyClient(context, isolate, request, form);
  const { type, parameters, decide } = requireGrantModule(client, form);
  await refuseIdOfResource(context, isolate, client);
  const certificate = await readClientCertificate(context, request);
  const proof = await requireProof(context, isolate, client, request, certificate);
  const due = await decide({ context, isolate, client, proof, certificate, accepted, form: form.only(parameters) });
  // The next request with this text may lack anything else that this one has.
  const isTextAll = proof === undefined && certificate === undefined && accepted === undefined;
  const untilMs = isTextAll ? authenticatedUntilMs(client, context.arrivedAtMs) : 0;
  return { type, client, proof, due, repeatableUntilMs: Math.min(due.repeatableUntilMs ?? 0, untilMs) };
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

/**
 * Only the URL of a metadata document can be both a client's id and a resource's identifier. With access tokens of the type `JWT`, the resource
 * could not tell them from the client's ID tokens (RFC 9068 §5). Cost warm: 0 calls.
 */
async function refuseIdOfResource(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  { clientId, origin }: Client,
): Promise<void> {
  if (origin !== "document") return;
  const resource = await isolate.resources.find(context, clientId);
  if (resource?.metadata.access_token_typ !== "JWT") return;
  throw new OAuthError("unauthorized_client", "client-is-resource", {
    description: "The client_id is the identifier of a resource whose access tokens have the type of ID tokens.",
  });
}

function requireGrantModule(client: Client, form: Form): GrantModule {
  const grantType = form.require("grant_type");
  const module = modulesByType.get(grantType);
  if (module === undefined) {
    throw new OAuthError("unsupported_grant_type", "grant-type-unknown", {
      description: `The grant type ${shownValue(grantType)} is not supported.`,
    });
  }
  if (!client.metadata.grant_types.includes(module.type)) {
    throw new OAuthError("unauthorized_client", "grant-type-not-registered", {
      description: `The client is not registered for the grant type ${grantType}.`,
    });
  }
  return module;
}

function issueTokens(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  { type, client, proof, due }: Decision,
  open: OpenDecision,
): Promise<TokenResponse> {
  // A proof remembers that it is spent, so each of these may be called after the other.
  const validateWithProof = async () => {
    await open.validate();
    await proof?.spend();
  };
  const commitWithProof = async () => {
    await open.commit();
    await proof?.spend();
  };
  return modulesByType.get(type)!.issue({ context, isolate, client, proof, validateWithProof, commitWithProof }, due);
}
