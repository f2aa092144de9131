import { decodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import { authenticationContexts } from "@edge-op/protocol/oauth/authentication-context";
import type { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { log } from "@edge-op/shared/runtime/log";
import { findPasskey, type Passkey, recordPasskeyUse } from "@edge-op/shared/users/credentials";
import type { AuthenticationResponseJSON } from "@simplewebauthn/server";
import type { AuthEnv } from "../../auth-env.ts";
import { identifyBrowser } from "../../browser/cookies.ts";
import { rememberBrowser } from "../known-browser.ts";
import type { SignInRequest, SignInResult } from "../sign-in-method.ts";
import { challengeOf, importWebAuthn, readAssertion, relyingParty, userHandle } from "./passkey-ceremony.ts";
import { passkeyWayIn, reservePasskeyAttempt } from "./reserve-passkey-attempt.ts";

/**
 * **Verifies a sign-in by passkey.** The credential's id identifies the person; its signature must cover the challenge of this page.
 * Cost: 1 object call (0 if the deployment does not know addresses) and 2 D1 calls; a correct attempt is released in the background.
 *
 * @see https://www.w3.org/TR/webauthn-3/#sctn-verifying-assertion
 */
export async function verifyPasskeySignIn(at: SignInRequest, form: Form): Promise<SignInResult> {
  const { context, isolate, request } = at;
  const browser = await identifyBrowser(context, request);
  const credential = readAssertion(context, form.get("credential") ?? "");
  const attempt = await reservePasskeyAttempt(context, isolate, request, browser, credential?.id);
  if (attempt.kind === "refused") return { kind: "throttled", seconds: attempt.retryAfterSeconds };
  const passkey = credential && (await findPasskey(context.env.DB, credential.id));
  const use = passkey && (await verifyAssertion(context, credential, passkey, at.id));
  if (passkey === undefined || use === undefined || passkey.status !== "active") {
    const seconds = await attempt.countWrong(passkey?.sub, reasonOf(passkey, use !== undefined));
    return seconds === undefined ? { kind: "refused" } : { kind: "throttled", seconds };
  }
  context.waitUntil(attempt.release());
  await recordPasskeyUse(context.env.DB, passkey.credentialId, { ...use, atMs: context.arrivedAtMs });
  const { acr, amr } = authenticationContexts[use.isBound ? "boundPasskey" : "syncedPasskey"];
  const cookie = await rememberBrowser(context, request, browser, passkeyWayIn(passkey.credentialId));
  return { kind: "signedIn", authentication: { sub: passkey.sub, acr, amr }, cookies: [cookie] };
}

function reasonOf(passkey: Passkey | undefined, isVerified: boolean): string {
  if (passkey === undefined) return "unknown passkey";
  return isVerified ? "suspended" : "passkey not verified";
}

async function verifyAssertion(
  context: RequestContext<AuthEnv>,
  response: AuthenticationResponseJSON,
  { credentialId, sub, publicKey, signCount }: Passkey,
  interactionId: string,
): Promise<{ signCount: number; backedUp: boolean; isBound: boolean } | undefined> {
  if (response.response.userHandle !== (await userHandle(sub))) return undefined;
  const { id, origin } = relyingParty(context);
  const expectedChallenge = await challengeOf(context, "get", interactionId);
  const { verifyAuthenticationResponse } = await importWebAuthn();
  try {
    const { verified, authenticationInfo: info } = await verifyAuthenticationResponse({
      response,
      expectedChallenge,
      expectedOrigin: origin,
      expectedRPID: id,
      credential: { id: credentialId, publicKey: decodeBase64Url(publicKey)!, counter: signCount },
      requireUserVerification: true,
    });
    if (!verified) return undefined;
    const isBound = info.credentialDeviceType === "singleDevice";
    return { signCount: info.newCounter, backedUp: info.credentialBackedUp, isBound };
  } catch (cause) {
    // The library throws for every assertion that does not verify.
    log("passkey-refused", { cause: String(cause), requestId: context.requestId });
    return undefined;
  }
}
