import type { Browser } from "@edge-op/pages/cookies";
import { decodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import type { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { log } from "@edge-op/shared/runtime/log";
import { laneOf } from "@edge-op/shared/sessions/attempts";
import { findPasskey, type Passkey, recordPasskeyUse } from "@edge-op/shared/users/credentials";
import type { AuthenticationResponseJSON } from "@simplewebauthn/server";
import type { PageRequest } from "../pages/frame.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { isKnownBrowser, rememberBrowser, type WayIn } from "../session/known-browser.ts";
import { addressBuckets, type Bucket, logRefusedSignIn, reserveAttempt } from "../session/sign-in-limits.ts";
import type { SignInResult } from "../step/sign-in-method.ts";
import type { StepRequest } from "../step/step.ts";
import { challengeOf, importWebAuthn, readAssertion, relyingParty, userHandle } from "./passkey-ceremony.ts";

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
    if (use !== undefined && passkey !== undefined) return { kind: "suspended" };
    // If the signature does not verify, the authenticator must not forget the passkey.
    return { kind: "refused", unknownCredential: passkey === undefined ? unknownId(credential) : undefined };
  }
  context.waitUntil(attempt.release());
  const { sub, credentialId, allowed, terms } = passkey;
  return {
    kind: "signed in",
    proof: { method: use.isBound ? "boundPasskey" : "syncedPasskey", sub, credential: credentialId },
    cookies: [await rememberBrowser(context, request, browser, passkeyWayIn(credentialId))],
    allowed,
    terms: { version: terms },
    // Later sign-ins by it say nothing: the account page does.
    marks:
      passkey.isOnlyWayIn && passkey.lastUsedAtMs === undefined
        ? { newCodes: { sub, replaced: "", hasOnePasskey: true } }
        : {},
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

const passkeyLanes = laneOf({ capacity: 10, drainMs: 30_000 });

export interface PasskeyAttempt {
  /** `undefined`: the attempt may be made. */
  readonly retryAfterSeconds: number | undefined;
  release(): Promise<void>;
  recordThrottled(): Promise<void>;
  /** Logs a wrong attempt, with an audit event if the passkey exists. Returns the seconds to wait after too many of them. */
  countWrong(sub: string | undefined, reason: string): Promise<number | undefined>;
}

export function passkeyWayIn(credentialId: string): WayIn {
  return `passkey\n${credentialId}`;
}

/**
 * **Reserves an attempt by passkey while the passkey is read**, in buckets separate from those of passwords: the bucket of the browser if it
 * has used this passkey before, else that of the address. The bucket of the credential counts only wrong attempts, after verification:
 * a stranger who knows the id could fill it, and a valid signature is not refused for that. Ids that do not exist have such a bucket
 * too, so that throttling does not reveal which exist.
 * Cost: 1 object call, 0 if neither browser nor address is known; 1 more for a wrong or a refused attempt.
 */
async function reservePasskeyAttempt(
  { context, isolate, request }: PageRequest,
  browser: Browser,
  credentialId: string | undefined,
): Promise<PasskeyAttempt> {
  const wayIn = passkeyWayIn(credentialId ?? "");
  const isKnown = await isKnownBrowser(context, request, browser, wayIn);
  const own: Bucket = { name: "browser", subject: `known ${browser.id} ${wayIn}`, lanes: passkeyLanes };
  const buckets = isKnown ? [own] : addressBuckets(context, request, "passkey address");
  const attempt = await reserveAttempt(context, isolate, buckets, "passkey");
  const countWrong = async (sub: string | undefined, reason: string) => {
    const failed = { method: "passkey", sub, reason } as const;
    logRefusedSignIn(context, "sign-in-failed", failed);
    const wrong: Bucket = { name: "passkey", subject: `wrong ${wayIn}`, lanes: passkeyLanes };
    const isCounted = !isKnown && credentialId !== undefined;
    const counted = isCounted ? await reserveAttempt(context, isolate, [wrong], "passkey") : undefined;
    if (counted?.retryAfterSeconds !== undefined) {
      await counted.recordThrottled({ sub });
      return counted.retryAfterSeconds;
    }
    // Anyone can send any number of unknown ids, so those are only logged.
    if (sub !== undefined) await isolate.attempts.recordFailed(context, wrong.subject, failed);
    return undefined;
  };
  const { retryAfterSeconds, release } = attempt;
  return { retryAfterSeconds, release, recordThrottled: () => attempt.recordThrottled({ sub: undefined }), countWrong };
}
