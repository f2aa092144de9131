import {
  clockDifference,
  findClockFault,
  foreignClockSkewSeconds,
  isTime,
  toSeconds,
} from "@edge-op/protocol/encoding/seconds";
import { longestToken } from "@edge-op/protocol/jwt/decode-claims";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import type { Client } from "@edge-op/shared/clients/client";
import { allowedAlgorithms, signsMessages } from "@edge-op/shared/clients/security-profile";
import { limits } from "@edge-op/shared/config/limits";
import { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { isEncrypted } from "../runtime/decryption-keys.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import { authorizationParameters } from "./authorization-request.ts";

/**
 * **Reads a request object**: signed with a key that the client registered, perhaps encrypted, for this provider, not expired. Only its parameters
 * are used; those outside it are ignored (RFC 9101 §5), so that nobody between client and provider can add any.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9101#section-6
 */
export async function readRequestObject(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  client: Client,
  outer: Form,
): Promise<Form> {
  const token = outer.get("request");
  if (token === undefined) {
    if (client.metadata.require_signed_request_object || signsMessages(context.settings, client)) {
      throw new OAuthError("invalid_request", "request-object-missing");
    }
    return outer;
  }
  if (token.length > longestToken) throw refusal("request-object-too-long");
  const signed = await decryptRequestObject(context, isolate, client, token);
  const verified = await isolate.clientKeys.verify(context, client, signed, {
    algorithms: allowedAlgorithms(context.settings, client, client.metadata.request_object_signing_alg),
    typ: ["oauth-authz-req+jwt", "application/oauth-authz-req+jwt", "JWT"],
  });
  if (verified === undefined) {
    const { reason, detail, description } = isolate.clientKeys.explain(context, client, "request-object-signature");
    throw refusal(reason, detail, description);
  }
  const problem = findProblem(context, client, verified.claims);
  if (problem !== undefined) throw refusal("request-object-claims", problem);
  const now = toSeconds(context.arrivedAtMs);
  const late = findTimeProblem(client, verified.claims, now, signsMessages(context.settings, client));
  // The client signed these times: it learns by how much its clock differs.
  if (late !== undefined) throw refusal("request-object-claims", late, `The request object is invalid: ${late}.`);
  return toForm(verified.claims);
}

function findProblem(
  context: RequestContext<AuthEnv>,
  client: Client,
  claims: Readonly<Record<string, unknown>>,
): string | undefined {
  const { iss, aud, sub, client_id: clientId } = claims;
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (clientId !== client.clientId) return "client_id differs";
  if (iss !== undefined && iss !== client.clientId) return "iss is not the client";
  const mayOmitAudience = aud === undefined && !signsMessages(context.settings, client);
  if (!mayOmitAudience && !audiences.includes(context.settings.issuer)) return "aud is not this provider";
  // RFC 9101 §10.8: a client assertion, whose subject is the client, must not be accepted as a request object.
  if (sub === client.clientId) return "sub is the client";
  return "request" in claims || "request_uri" in claims ? "a request within a request" : undefined;
}

/**
 * Each time claim limits its validity. A request object without any is accepted only from a client that may omit request objects: replaying
 * it grants no more than sending its parameters. A client that also registered the signing algorithm must send `exp` and `nbf`, and so must
 * one with FAPI 2.0 Message Signing (§5.3.1).
 */
function findTimeProblem(
  { metadata }: Client,
  claims: Readonly<Record<string, unknown>>,
  now: number,
  isMessageSigning: boolean,
): string | undefined {
  const skew = foreignClockSkewSeconds;
  const life = limits.requestObjectLifetimeSeconds;
  const { exp, nbf, iat } = claims;
  if (!isTimeOrAbsent(exp) || !isTimeOrAbsent(nbf) || !isTimeOrAbsent(iat)) return "exp, nbf or iat malformed";
  const clock = findClockFault(claims, now);
  if (clock !== undefined) return clock;
  const beyond = (name: string, time: number) => `${clockDifference(name, time, now)}; ${life} s are allowed`;
  if (exp !== undefined && exp > now + life + skew) return beyond("exp", exp);
  if (exp !== undefined && nbf !== undefined && exp - nbf > life) return `exp more than ${life} seconds after nbf`;
  for (const [name, time] of Object.entries({ nbf, iat })) {
    if (time !== undefined && time < now - life - skew) return beyond(name, time);
  }
  if (!metadata.require_signed_request_object && !isMessageSigning) return undefined;
  const needsBoth = isMessageSigning || metadata.request_object_signing_alg !== undefined;
  if (needsBoth && (exp === undefined || nbf === undefined)) return "exp or nbf missing";
  return exp === undefined && nbf === undefined && iat === undefined ? "exp, nbf and iat missing" : undefined;
}

function isTimeOrAbsent(value: unknown): value is number | undefined {
  return value === undefined || isTime(value);
}

function toForm(claims: Readonly<Record<string, unknown>>): Form {
  const values = new Map<string, readonly string[]>();
  for (const name of authorizationParameters) {
    const value = claims[name];
    if (value === undefined || value === "") continue;
    values.set(name, toTexts(name, value));
  }
  return new Form(values);
}

/** Converts JSON values to form values: numbers to decimal, `claims` and `authorization_details` to JSON, `resource` to one or more values. */
function toTexts(name: string, value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (name === "max_age" && typeof value === "number") return [String(value)];
  const isJson = name === "claims" || name === "authorization_details";
  if (isJson && typeof value === "object" && value !== null) return [JSON.stringify(value)];
  if (name === "resource" && Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
  throw refusal("request-object-claims", `${name} has the wrong type`);
}

function refusal(reason: RefusalReason, detail?: string, description?: string): OAuthError {
  return new OAuthError("invalid_request_object", reason, { detail, description });
}

/**
 * **The signed request object inside an encrypted one**; any other text unchanged. The registered algorithms do not limit the client: it may also use
 * other supported algorithms or send unencrypted objects (OIDC Registration §2). Every failure has the same error and text, so that trial and error
 * reveals nothing about a key. Cost: 0 without encryption; with it 1 private key operation.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9101#section-6.1
 * @see https://openid.net/specs/openid-connect-core-1_0.html#EncryptedRequestObject
 */
async function decryptRequestObject(
  context: RequestContext<AuthEnv>,
  isolate: Pick<AuthIsolate, "decryptionKeys">,
  { metadata }: Client,
  token: string,
): Promise<string> {
  if (!isEncrypted(token)) return token;
  // Nothing is decrypted for a client without keys: its request object cannot be signed.
  const hasKeys = metadata.jwks !== undefined || metadata.jwks_uri !== undefined;
  const signed = hasKeys ? await isolate.decryptionKeys.decrypt(context, token) : undefined;
  if (signed === undefined) throw new OAuthError("invalid_request_object", "request-object-not-decrypted");
  return signed;
}
