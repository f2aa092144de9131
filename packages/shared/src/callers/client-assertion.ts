import {
  clockDifference,
  describeClockFault,
  findClockFault,
  foreignClockSkewSeconds,
  isTime,
  toSeconds,
} from "@edge-op/protocol/encoding/seconds";
import { decodeClaims, type JwtClaims } from "@edge-op/protocol/jwt/decode-claims";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import type { Client } from "../clients/client.ts";
import { allowedAlgorithms, isFapi } from "../clients/security-profile.ts";
import { limits } from "../config/limits.ts";
import type { Settings } from "../config/settings.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { ClientAuthBindings, ClientAuthIsolate } from "./endpoint-isolate.ts";
import { invalidClient, type PresentedCredentials, requireRegistered } from "./presented-credentials.ts";

/**
 * **Authenticates a client by a JWT it signed** (`private_key_jwt`). `iss` and `sub` are the client, `aud` is this provider,
 * the lifetime is an hour at most, and the `jti` is spent: exactly one of any number of parallel uses succeeds.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7523#section-3
 * @param endpoint the path of the endpoint called: an assertion may name it as its audience.
 */
export async function verifyClientAssertion(
  context: RequestContext<ClientAuthBindings>,
  isolate: ClientAuthIsolate,
  presented: Extract<PresentedCredentials, { method: "private_key_jwt" }>,
  endpoint: string,
): Promise<Client> {
  const claimed = claimedClientId(presented);
  if (claimed === undefined) throw invalidClient("assertion-malformed", false);
  if (presented.clientId !== undefined && presented.clientId !== claimed) {
    throw invalidClient("assertion-client-differs", false);
  }
  const found = await isolate.clients.find(context, claimed);
  context.progress.namesKnownClient = found !== undefined;
  const client = requireRegistered(found, "private_key_jwt", false);
  const { settings } = context;
  const verified = await isolate.clientKeys.verify(context, client, presented.assertion, {
    algorithms: allowedAlgorithms(settings, client, client.metadata.token_endpoint_auth_signing_alg),
    typ: assertionTypes,
  });
  if (verified === undefined) {
    const refusal = isolate.clientKeys.explain(context, client, "assertion-signature");
    throw invalidClient(refusal.reason, false, refusal);
  }
  // FAPI 2.0 §5.3.2.1 item 8: with the URL of an endpoint, another provider's metadata could lead the client to address this one.
  if (isFapi(settings, client) && verified.claims["aud"] !== settings.issuer) {
    throw invalidClient("assertion-aud-not-issuer", false);
  }
  const refusal = refuseAssertionClaims(verified.claims, context.settings, endpoint, context.arrivedAtMs);
  if (refusal !== undefined) throw invalidClient(refusal.reason, false, refusal);
  if (verified.claims["iss"] !== client.clientId) throw invalidClient("assertion-iss", false);
  if (!(await spendAssertion(context, isolate, client, verified.claims)))
    throw invalidClient("assertion-replayed", false);
  return client;
}

/** The client that an assertion names; not verified. */
export function claimedClientId({
  assertion,
}: Extract<PresentedCredentials, { method: "private_key_jwt" }>): string | undefined {
  const sub = decodeClaims(assertion)?.["sub"];
  return typeof sub === "string" ? sub : undefined;
}

/**
 * The accepted values of an assertion's `typ`, if it has one: a request object, signed by the same key and shown to browsers, must not pass for an
 * assertion (RFC 8725 §3.11, §3.12).
 */
export const assertionTypes = ["JWT", "client-authentication+jwt", "authorization-grant+jwt"];

/**
 * **The audiences of an assertion**: the issuer, the token endpoint, or the endpoint called (RFC 7523 §3, RFC 9126 §2).
 * Several values are accepted if each of them is one of these: another audience could replay the assertion here (RFC 9700 §4.4).
 */
export function isAssertionAudience(audience: unknown, { issuer, mtlsOrigin }: Settings, endpoint: string): boolean {
  const values: readonly unknown[] = Array.isArray(audience) ? audience : [audience];
  const alias = mtlsOrigin === undefined ? [] : [`${mtlsOrigin}/token`, `${mtlsOrigin}${endpoint}`];
  const accepted: readonly unknown[] = [issuer, `${issuer}/token`, `${issuer}${endpoint}`, ...alias];
  return values.length > 0 && values.every((value) => accepted.includes(value));
}

/** A fault and its details, for the log; the difference of a clock is told to the sender too. */
interface AssertionFault {
  readonly reason: RefusalReason;
  readonly detail?: string | undefined;
  readonly description?: string | undefined;
}

/** The fault of an assertion's `aud`, times or `jti`; `undefined` if it has none (RFC 7523 §3). */
export function refuseAssertionClaims(
  claims: Readonly<Record<string, unknown>>,
  settings: Settings,
  endpoint: string,
  atMs: number,
): AssertionFault | undefined {
  const { aud, jti } = claims;
  if (!isAssertionAudience(aud, settings, endpoint)) {
    return { reason: "assertion-aud", detail: `aud is not only the issuer, the token endpoint or ${endpoint}` };
  }
  const late = refuseTimes(claims, toSeconds(atMs));
  if (late !== undefined) return late;
  if (typeof jti !== "string" || jti === "" || jti.length > 256) return { reason: "assertion-jti" };
  return undefined;
}

const timeReasons = { exp: "assertion-exp", iat: "assertion-iat", nbf: "assertion-nbf" } as const;

function refuseTimes(claims: JwtClaims, now: number): AssertionFault | undefined {
  for (const [name, reason] of Object.entries(timeReasons)) {
    const time = claims[name];
    if (time === undefined ? name === "exp" : !isTime(time)) return { reason };
    const clock = findClockFault({ [name]: time }, now);
    if (clock !== undefined) return { reason, detail: clock, description: describeClockFault("assertion", clock) };
  }
  const { exp, iat } = claims;
  const lifetimeSeconds = Number(exp) - Math.min(isTime(iat) ? iat : now, now);
  if (lifetimeSeconds <= limits.assertionLifetimeSeconds + foreignClockSkewSeconds) return undefined;
  const allowed = `${limits.assertionLifetimeSeconds} s are allowed`;
  return {
    reason: "assertion-lifetime",
    detail: `lifetime of ${lifetimeSeconds} s; ${allowed}`,
    description: `The assertion is valid for too long: ${clockDifference("exp", Number(exp), now)}; ${allowed}.`,
  };
}

/**
 * Spends the `jti` of an issuer, a client or a trusted issuer's party (RFC 7523 §3 item 7); false if it was spent before. Once per request, however
 * often its decision runs.
 */
export async function spendAssertion(
  context: RequestContext<ClientAuthBindings>,
  isolate: Pick<ClientAuthIsolate, "challenges">,
  { clientId: issuer }: Pick<Client, "clientId">,
  claims: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  const key = `${issuer} ${String(claims["jti"])}`;
  if (context.spentAssertions.has(key)) return true;
  const untilMs = (Number(claims["exp"]) + 2 * foreignClockSkewSeconds) * 1000;
  const fresh = await isolate.challenges.spendOnce(context, key, untilMs);
  if (fresh) context.spentAssertions.add(key);
  return fresh;
}
