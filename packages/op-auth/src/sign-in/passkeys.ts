import { displayName } from "@edge-op/pages/person";
import { findPasskey, insertPasskey, type Passkey, recordPasskeyUse } from "@edge-op/shared/directory/credentials";
import type { User } from "@edge-op/shared/directory/user";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { authenticationContexts } from "@edge-op/shared/oauth/authentication-context";
import { decodeBase64Url, encodeBase64Url, sha256 } from "@edge-op/shared/runtime/bytes";
import { log } from "@edge-op/shared/runtime/log";
import { macText } from "@edge-op/shared/secrets/mac";
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import type { AuthEnv } from "../auth-env.ts";
import type { Browser } from "../browser/cookies.ts";
import { readDeployment } from "../deployment.ts";
import type { AuthIsolate } from "../isolate.ts";
import { passkeyWayIn, rememberBrowser } from "./known-browser.ts";
import { reservePasskeyAttempt } from "./sign-in-limits.ts";
import type { SignInResult } from "./verify-password-sign-in.ts";

/** A ceremony's JSON; browsers send one or two KiB, more with attestation. */
const responseCharacters = 16_384;

/** Loaded when first needed: most of it reads attestation certificates, and every isolate would start later for it. */
function webAuthn() {
  return import("@simplewebauthn/server");
}

function relyingParty(context: RequestContext<AuthEnv>) {
  const { hostname, origin } = new URL(context.settings.issuer);
  return { id: hostname, origin };
}

/**
 * The challenge of a page: a MAC over the interaction that the page belongs to. The interaction is random, kept on the server,
 * bound to the browser and spent by success, and with it so is its challenge; nothing more is stored.
 */
function challengeOf(context: RequestContext<AuthEnv>, ceremony: "get" | "create", subject: string): Promise<string> {
  return macText(context.env, "cookie-mac", `passkey ${ceremony}\n${subject}`);
}

/**
 * **What the sign-in page's script requests of an authenticator**: any discoverable passkey of this origin, or one of `allowed`, with
 * user verification.
 */
export async function passkeySignInOptions(
  context: RequestContext<AuthEnv>,
  interactionId: string,
  allowed: readonly Passkey[] = [],
): Promise<string> {
  const options: PublicKeyCredentialRequestOptionsJSON = {
    challenge: await challengeOf(context, "get", interactionId),
    rpId: relyingParty(context).id,
    userVerification: "required",
    allowCredentials: describeCredentials(allowed),
  };
  return JSON.stringify(options);
}

/**
 * **Signs in by passkey.** Its id finds the person; its signature must be over this page's challenge. Cost: 1 object call (0 where
 * the deployment does not know addresses) and 2 D1 calls; right ones give their attempt back in the background.
 *
 * @see https://www.w3.org/TR/webauthn-3/#sctn-verifying-assertion
 */
export async function verifyPasskeySignIn(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  browser: Browser,
  { interactionId, response }: { readonly interactionId: string; readonly response: string },
): Promise<SignInResult> {
  const credential = readCredential(context, response) as AuthenticationResponseJSON | undefined;
  const attempt = await reservePasskeyAttempt(context, isolate, request, browser, credential?.id);
  if (attempt.kind === "refused") return { kind: "throttled", seconds: attempt.retryAfterSeconds };
  const passkey = credential && (await findPasskey(context.env.DB, credential.id));
  const use = passkey && (await verifyAssertion(context, credential, passkey, interactionId));
  if (passkey === undefined || use === undefined || passkey.status !== "active") {
    const seconds = await attempt.countWrong(passkey?.sub, reasonOf(passkey, use !== undefined));
    return seconds === undefined ? { kind: "wrongPasskey" } : { kind: "throttled", seconds };
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
  const { verifyAuthenticationResponse } = await webAuthn();
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
    // The library throws for whatever does not verify: a refusal, and the reason is for the log.
    log("passkey-refused", { cause: String(cause), requestId: context.requestId });
    return undefined;
  }
}

/** **What the account page's script asks for**: a discoverable passkey that no registered one already is. */
export async function passkeyRegistrationOptions(
  context: RequestContext<AuthEnv>,
  user: User,
  registered: readonly Passkey[],
  ceremonyId: string,
): Promise<string> {
  const { generateRegistrationOptions } = await webAuthn();
  const options = await generateRegistrationOptions({
    rpName: readDeployment(context.env).name,
    rpID: relyingParty(context).id,
    userName: user.username,
    userDisplayName: displayName(user),
    userID: decodeBase64Url(await userHandle(user.sub))!,
    challenge: decodeBase64Url(await challengeOf(context, "create", ceremonyId))!,
    attestationType: "none",
    excludeCredentials: describeCredentials(registered),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
  return JSON.stringify(options);
}

/**
 * **Registers a passkey**: false for whatever does not verify or exists already. Cost: 1 D1 call.
 *
 * @see https://www.w3.org/TR/webauthn-3/#sctn-registering-a-new-credential
 */
export async function registerPasskey(
  context: RequestContext<AuthEnv>,
  user: User,
  ceremonyId: string,
  response: string,
  name: string,
): Promise<boolean> {
  const credential = readCredential(context, response) as RegistrationResponseJSON | undefined;
  if (credential === undefined) return false;
  const { id, origin } = relyingParty(context);
  const expectedChallenge = await challengeOf(context, "create", ceremonyId);
  const { verifyRegistrationResponse } = await webAuthn();
  try {
    const { verified, registrationInfo: info } = await verifyRegistrationResponse({
      response: credential,
      expectedChallenge,
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: true,
    });
    if (!verified) return false;
    return await insertPasskey(context.env.DB, {
      credentialId: info.credential.id,
      sub: user.sub,
      publicKey: encodeBase64Url(new Uint8Array(info.credential.publicKey)),
      signCount: info.credential.counter,
      transports: info.credential.transports ?? [],
      backedUp: info.credentialBackedUp,
      name,
      createdAtMs: context.arrivedAtMs,
      lastUsedAtMs: undefined,
    });
  } catch (cause) {
    log("passkey-not-registered", { cause: String(cause), requestId: context.requestId });
    return false;
  }
}

function describeCredentials(passkeys: readonly Passkey[]) {
  return passkeys.map(({ credentialId, transports }) => ({
    id: credentialId,
    type: "public-key" as const,
    transports: [...transports],
  }));
}

/** What authenticators know a person by: random to look at, and nothing personal (WebAuthn §14.6.1). */
async function userHandle(sub: string): Promise<string> {
  return encodeBase64Url(await sha256(`passkey user\n${sub}`));
}

/** Its members are checked by the library; here only that there are any. */
function readCredential({ requestId }: RequestContext<AuthEnv>, response: string): object | undefined {
  if (response.length > responseCharacters) return undefined;
  try {
    const value: unknown = JSON.parse(response);
    const isCredential =
      typeof value === "object" &&
      value !== null &&
      "id" in value &&
      typeof value.id === "string" &&
      "response" in value &&
      typeof value.response === "object" &&
      value.response !== null;
    return isCredential ? value : undefined;
  } catch {
    // The message of the exception would repeat what was posted.
    log("passkey-malformed", { requestId });
    return undefined;
  }
}
