import { decodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import type { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { log } from "@edge-op/shared/runtime/log";
import { findPasskey, type Passkey, recordPasskeyUse } from "@edge-op/shared/users/credentials";
import type { AuthenticationResponseJSON } from "@simplewebauthn/server";
import { rememberBrowser } from "../../../attempts/known-browser.ts";
import type { AuthEnv } from "../../../auth-env.ts";
import type { SignInResult } from "../../sign-in-method.ts";
import type { StepRequest } from "../../step.ts";
import { challengeOf, importWebAuthn, readAssertion, relyingParty, userHandle } from "./passkey-ceremony.ts";
import { passkeyWayIn, reservePasskeyAttempt } from "./reserve-passkey-attempt.ts";

/**
 * **Verifies a sign-in by passkey.** The credential's id identifies the person; its signature must cover the challenge of this page.
 * Cost: 1 object call (0 if the deployment does not know addresses) and 1 D1 call, in parallel; a correct attempt is released in the background,
 * and its use is recorded (1 D1 call) in parallel with the calls that open the session.
 *
 * @see https://www.w3.org/TR/webauthn-3/#sctn-verifying-assertion
 */
export async function verifyPasskeySignIn(at: StepRequest, form: Form): Promise<SignInResult> {
  const { context, request, browser, authorization, flow } = at;
  const credential = readAssertion(context, form.get("credential") ?? "");
  const [attempt, passkey] = await Promise.all([
    reservePasskeyAttempt(at, browser, credential?.id),
    credential && findPasskey(context.env.DB, credential.id, authorization?.client.clientId),
  ]);
  if (attempt.retryAfterSeconds !== undefined) {
    await attempt.recordThrottled();
    return { kind: "throttled", seconds: attempt.retryAfterSeconds };
  }
  const use = credential && passkey && (await verifyAssertion(context, credential, passkey, flow.fid));
  if (passkey === undefined || use === undefined || passkey.status !== "active") {
    const seconds = await attempt.countWrong(passkey?.sub, reasonOf(passkey, use !== undefined));
    if (seconds !== undefined) return { kind: "throttled", seconds };
    // If the account is suspended or the signature does not verify, the authenticator must not forget the passkey.
    return { kind: "refused", unknownCredential: passkey === undefined ? unknownId(credential) : undefined };
  }
  context.waitUntil(attempt.release());
  const { sub, credentialId, allowed } = passkey;
  return {
    kind: "signed in",
    proof: { method: use.isBound ? "boundPasskey" : "syncedPasskey", sub, credential: credentialId },
    cookies: [await rememberBrowser(context, request, browser, passkeyWayIn(credentialId))],
    allowed,
    write: () => recordPasskeyUse(context.env.DB, credentialId, { ...use, atMs: context.arrivedAtMs }),
  };
}

/** WebAuthn §4: an id has at most 1023 bytes. */
function unknownId(credential: AuthenticationResponseJSON | undefined): string | undefined {
  return credential !== undefined && /^[A-Za-z0-9_-]{1,1364}$/.test(credential.id) ? credential.id : undefined;
}

function reasonOf(passkey: Passkey | undefined, isVerified: boolean): string {
  if (passkey === undefined) return "unknown passkey";
  return isVerified ? "suspended" : "passkey not verified";
}

async function verifyAssertion(
  context: RequestContext<AuthEnv>,
  response: AuthenticationResponseJSON,
  { credentialId, sub, publicKey, signCount, isImported }: Passkey,
  fid: string,
): Promise<{ signCount: number; backedUp: boolean; isBound: boolean } | undefined> {
  // The credential names the person (WebAuthn §7.2); the handle of an imported one is another provider's.
  if (isImported !== true && response.response.userHandle !== (await userHandle(sub))) return undefined;
  const { id, origins } = relyingParty(context);
  const expectedChallenge = await challengeOf(context, "get", fid);
  const { verifyAuthenticationResponse } = await importWebAuthn();
  try {
    const { verified, authenticationInfo: info } = await verifyAuthenticationResponse({
      response,
      expectedChallenge,
      expectedOrigin: origins,
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
