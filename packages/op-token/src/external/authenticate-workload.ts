import { decodeClaims } from "@edge-op/protocol/jwt/decode-claims";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { Client } from "@edge-op/shared/clients/client";
import { isFapi } from "@edge-op/shared/clients/security-profile";
import type { Form } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { issuerOf } from "@edge-op/shared/issuers/check-token";
import type { TokenEnv } from "@edge-op/workers/env";
import type { TokenIsolate } from "../isolate.ts";
import { type AcceptedAssertion, acceptAssertion } from "./external-assertion.ts";

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
