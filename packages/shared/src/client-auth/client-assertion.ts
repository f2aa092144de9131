import { limits } from "../config/limits.ts";
import type { Settings } from "../config/settings.ts";
import type { Client } from "../directory/client.ts";
import type { RequestContext } from "../http/request-context.ts";
import { decodeClaims } from "../jwt/decode-claims.ts";
import { toSeconds } from "../runtime/clock.ts";
import type { ClientAuthBindings, ClientAuthIsolate } from "./client-auth-isolate.ts";
import { invalidClient, type PresentedCredentials } from "./presented-credentials.ts";
import { requireRegistered } from "./registered-method.ts";

/**
 * **Authenticates a client by a JWT it signed** (`private_key_jwt`). `iss` and `sub` are the client, `aud` is this provider,
 * the life is short, and the `jti` is spent: exactly one of any number of parallel uses succeeds.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7523#section-3
 */
export async function verifyClientAssertion(
  context: RequestContext<ClientAuthBindings>,
  isolate: ClientAuthIsolate,
  presented: Extract<PresentedCredentials, { method: "private_key_jwt" }>,
): Promise<Client> {
  const claimed = decodeClaims(presented.assertion)?.["sub"];
  if (typeof claimed !== "string") throw invalidClient("assertion is no JWT with a sub", false);
  if (presented.clientId !== undefined && presented.clientId !== claimed) {
    throw invalidClient("client_id and the assertion's sub differ", false);
  }
  const client = requireRegistered(await isolate.clients.find(context, claimed), "private_key_jwt", false);
  const algorithm = client.metadata.token_endpoint_auth_signing_alg;
  const verified = await isolate.clientKeys.verify(context, client, presented.assertion, {
    algorithms: algorithm === undefined ? undefined : [algorithm],
    typ: assertionTypes,
  });
  if (verified === undefined) throw invalidClient("assertion is not signed by a registered key", false);
  const refusal = refuseAssertionClaims(verified.claims, context.settings, context.arrivedAtMs);
  if (refusal !== undefined) throw invalidClient(refusal, false);
  if (verified.claims["iss"] !== client.clientId) throw invalidClient("iss is not the client", false);
  if (!(await spendAssertion(context, isolate, client, verified.claims))) throw invalidClient("replayed", false);
  return client;
}

/**
 * What an assertion's `typ` may be, if it has one: a request object, signed by the same key and shown to browsers, must not
 * pass for an assertion (RFC 8725 §3.11, §3.12).
 */
export const assertionTypes = ["JWT", "client-authentication+jwt", "authorization-grant+jwt"];

/** Audiences that mean this provider: the issuer, the token endpoint (RFC 7523 §3) and that of pushed requests (RFC 9126 §2). */
export function isOwnAudience(audience: unknown, settings: Settings): boolean {
  const values: readonly unknown[] = Array.isArray(audience) ? audience : [audience];
  const own: readonly unknown[] = [settings.issuer, `${settings.issuer}/token`, `${settings.issuer}/par`];
  // An audience beside ours could replay the assertion here (RFC 9700 §4.4): all of them must be this provider.
  return values.length > 0 && values.every((value) => own.includes(value));
}

/** What is wrong with an assertion's `aud`, times and `jti`, for the log; `undefined` if nothing (RFC 7523 §3). */
export function refuseAssertionClaims(
  claims: Readonly<Record<string, unknown>>,
  settings: Settings,
  atMs: number,
): string | undefined {
  const now = toSeconds(atMs);
  const skew = limits.foreignClockSkewSeconds;
  const { aud, exp, iat, nbf, jti } = claims;
  if (!isOwnAudience(aud, settings)) return "aud is not this provider alone";
  if (typeof exp !== "number" || exp <= now - skew) return "exp missing or past";
  if (iat !== undefined && (typeof iat !== "number" || iat > now + skew)) return "iat malformed or ahead";
  if (exp - (typeof iat === "number" ? iat : now) > limits.assertionLifetimeSeconds + skew) return "lives too long";
  if (exp > now + limits.assertionLifetimeSeconds + skew) return "exp too far ahead";
  if (nbf !== undefined && (typeof nbf !== "number" || nbf > now + skew)) return "nbf malformed or ahead";
  if (typeof jti !== "string" || jti === "" || jti.length > 256) return "jti missing or too long";
  return undefined;
}

/** Spends the `jti` (RFC 7523 §3 item 7); false if someone has before. Once per request however often its decision runs. */
export async function spendAssertion(
  context: RequestContext<ClientAuthBindings>,
  isolate: Pick<ClientAuthIsolate, "challenges">,
  client: Client,
  claims: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  const key = `${client.clientId} ${String(claims["jti"])}`;
  if (context.spentAssertions.has(key)) return true;
  const untilMs = (Number(claims["exp"]) + 2 * limits.foreignClockSkewSeconds) * 1000;
  const fresh = await isolate.challenges.spendOnce(context, key, untilMs);
  if (fresh) context.spentAssertions.add(key);
  return fresh;
}
