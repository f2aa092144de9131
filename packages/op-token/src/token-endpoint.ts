import { decodeJwt } from "@edge-op/protocol/jwt/decode-claims";
import { readClientCertificate } from "@edge-op/protocol/mtls/client-certificate";
import type { GrantType } from "@edge-op/protocol/oauth/registered-names";
import { authenticatedUntilMs, countRequestOf } from "@edge-op/shared/callers/authenticate-client";
import type { ProvenKey } from "@edge-op/shared/callers/read-proof";
import type { Client } from "@edge-op/shared/clients/client";
import type { Repeatable } from "@edge-op/shared/control/remembered-decisions";
import { type OpenDecision, settle } from "@edge-op/shared/control/settle";
import { JsonResponse } from "@edge-op/shared/http/json-response";
import { type Form, readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { rulesOfParties } from "@edge-op/shared/issuers/trusted-issuer";
import type { TokenEnv } from "@edge-op/workers/env";
import type { TokenResponse } from "./grant-module.ts";
import { findGrantModule, requireGrantModule } from "./grants.ts";
import { identifyClient } from "./identify-client.ts";
import type { TokenIsolate } from "./isolate.ts";
import { requireProof } from "./issuing/require-proof.ts";
import { readNamedAhead } from "./read-named-ahead.ts";

/** RFC 6749 §5.1 requires it beside `no-store` in every response that contains a token. */
const tokenHeaders = { Pragma: "no-cache" } as const;

/**
 * **`POST /token`.** Cost of a warm request (object / KV / D1 calls): client_credentials, token exchange and jwt-bearer 0/0/0 (`direct` 1/0/0),
 * refresh 1/0/0, authorization code 1/0/0, a poll with a device code 1/0/0; a client assertion adds 1 object call, and so does a DPoP proof
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
  const decide = isolate.decisions.around(context, "/token", request, {
    read: () => readForm(request),
    decide: (form) => decideRequest(context, isolate, request, form),
    again: ({ client }) => countRequestOf(context, isolate, client, "/token"),
  });
  const decideAndIssue = async (open: OpenDecision) => {
    const decision = await decide();
    return { ...decision, issued: await issueTokens(context, isolate, decision, open) };
  };
  const begun = readNamedAhead(context, isolate, request);
  const decided = await settle(context, isolate, decideAndIssue, begun);
  reportIssued(context, isolate, decided);
  isolate.clients.noteUse(context, decided.client);
  return new JsonResponse(decided.issued, { headers: tokenHeaders });
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
  const certificate = await readClientCertificate(context, request);
  const proof = await requireProof(context, isolate, client, request, certificate);
  const due = await decide({ context, isolate, client, proof, certificate, accepted, form: form.only(parameters) });
  // The next request with this text may lack anything else that this one has.
  const isTextAll = proof === undefined && certificate === undefined && accepted === undefined;
  const untilMs = isTextAll ? authenticatedUntilMs(client, context.arrivedAtMs) : 0;
  return { type, client, proof, due, repeatableUntilMs: Math.min(due.repeatableUntilMs ?? 0, untilMs) };
}

function issueTokens(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  { type, client, proof, due }: Decision,
  open: OpenDecision,
): Promise<TokenResponse> {
  const request = { context, isolate, client, proof };
  const commit = async () => {
    await open.commit();
    await proof?.spend();
    return { ...request, isCommitted: true } as const;
  };
  return findGrantModule(type)!.issue({ ...request, validate: open.validate, commit }, due);
}

/** **Reports an issued token to the audit log.** The redemption of a code or a device code has its own event (op-state). */
function reportIssued(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  { type, client, issued }: Pick<Decision, "type" | "client"> & { readonly issued: TokenResponse },
): void {
  if (type === "authorization_code" || type === "urn:ietf:params:oauth:grant-type:device_code") return;
  isolate.reports.noteIssued(context, () => {
    const { sub, grant_client: grantClient, via } = decodeJwt(issued.access_token)?.claims ?? {};
    const issuerRules = rulesOfParties([grantClient, ...(Array.isArray(via) ? via : [])]);
    return {
      atMs: context.arrivedAtMs,
      grantType: type,
      clientId: client.clientId,
      sub: typeof sub === "string" ? sub : undefined,
      scope: issued.scope,
      ...(issuerRules.length === 0 ? {} : { issuerRules }),
      address: context.network,
      requestId: context.requestId,
    };
  });
}
