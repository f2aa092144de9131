/** **The parts that passkey registration and sign-in share**: relying party, challenge, user handle, parsing. */

import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { log } from "@edge-op/shared/runtime/log";
import { macText } from "@edge-op/shared/secrets/mac";
import type { Passkey } from "@edge-op/shared/users/credentials";
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import type { AuthEnv } from "../runtime/auth-env.ts";

/** A ceremony's JSON is one or two KiB, more with attestation. */
const responseCharacters = 16_384;

/** Imported on first use: most of it parses attestation certificates, and would delay the start of every isolate. */
export function importWebAuthn() {
  return import("@simplewebauthn/server");
}

/** Passkeys of the issuer's host, and the origins whose pages may use them (WebAuthn Level 3 §5.11). */
export function relyingParty(context: RequestContext<AuthEnv>) {
  const { issuer, passkeyOrigins } = context.settings;
  const { hostname, origin } = new URL(issuer);
  return { id: hostname, origins: [origin, ...passkeyOrigins] };
}

/**
 * The challenge of a page: a MAC over the id of its flow or ceremony. That id is random and spent by success, and the challenge with it; nothing
 * more is stored.
 */
export function challengeOf(
  context: RequestContext<AuthEnv>,
  ceremony: "get" | "create",
  subject: string,
): Promise<string> {
  return macText(context.env, "cookie-mac", `passkey ${ceremony}\n${subject}`);
}

/** The id that authenticators store for a person. It reveals nothing about them (WebAuthn §14.6.1). */
export async function userHandle(sub: string): Promise<string> {
  return encodeBase64Url(await sha256(`passkey user\n${sub}`));
}

export function describeCredentials(passkeys: readonly Passkey[]) {
  return passkeys.map(({ credentialId, transports }) => ({
    id: credentialId,
    type: "public-key" as const,
    transports: [...transports],
  }));
}

export function readAssertion(
  context: RequestContext<AuthEnv>,
  response: string,
): AuthenticationResponseJSON | undefined {
  return readCredential(context, response) as AuthenticationResponseJSON | undefined;
}

export function readAttestation(
  context: RequestContext<AuthEnv>,
  response: string,
): RegistrationResponseJSON | undefined {
  return readCredential(context, response) as RegistrationResponseJSON | undefined;
}

/** Checks only that `id` and `response` exist; the library checks their members. */
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
