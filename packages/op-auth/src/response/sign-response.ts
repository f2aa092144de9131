import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import type { Client } from "@edge-op/shared/clients/client";
import { encryptForClient } from "@edge-op/shared/clients/encrypt-for-client";
import { signatureFor } from "@edge-op/shared/clients/security-profile";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthIsolate } from "../isolate.ts";

/** The code inside is valid for 60 seconds; JARM §2.1 recommends 600 at most. */
const lifetimeSeconds = 120;

/**
 * **The `response` of an authorization response in JWT form** (JARM): its parameters, for this client alone and for a short time, signed and, if the
 * client registered that, encrypted. It has no `typ`, so that it cannot be mistaken for another token of this provider. Cost: 1 signature.
 *
 * @see https://openid.net/specs/oauth-v2-jarm-final.html#section-2.1
 */
export async function signResponse(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  client: Client,
  parameters: Readonly<Record<string, string>>,
): Promise<string> {
  const { authorization_signed_response_alg: registered } = client.metadata;
  const text = await isolate.keyRing.sign(context, {
    alg: signatureFor(context.settings, client, registered, "RS256"),
    typ: undefined,
    claims: { ...parameters, aud: client.clientId, exp: toSeconds(context.arrivedAtMs) + lifetimeSeconds },
  });
  return encryptForClient(context, isolate.clientKeys, client, "authorization", { text, isJwt: true });
}
