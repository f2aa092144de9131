import { deriveKey, derivePreviousKey, type MasterKeyBindings } from "../keys/master-key.ts";
import { decodeBase64Url, encodeBase64Url, encodeUtf8, equalConstantTime, randomBase64Url } from "../oauth/bytes.ts";
import type { ClientSecret } from "../storage/client.ts";

/**
 * **Client secrets**: 256 random bits, stored as HMAC-SHA-256 under the deployment's pepper. A slow hash protects weak
 * secrets; these are not weak, and the pepper keeps a stolen table useless.
 */
export function generateClientSecret(): string {
  return randomBase64Url(32);
}

export async function macClientSecret(env: MasterKeyBindings, secret: string): Promise<string> {
  return encodeBase64Url(await macOf(await deriveKey(env, "secret-pepper"), secret));
}

async function macOf(pepper: CryptoKey, secret: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", pepper, encodeUtf8(secret)));
}

/** A MAC that no secret has: an unknown client costs the same comparison as a wrong secret. */
const noMac = new Uint8Array(32);

/** Whether `secret` is one of the live ones, by the current pepper or, if it is by none, by the one before it. */
export async function matchesClientSecret(
  env: MasterKeyBindings,
  secret: string,
  secrets: readonly ClientSecret[],
  atMs: number,
): Promise<boolean> {
  if (isAmong(await macOf(await deriveKey(env, "secret-pepper"), secret), secrets, atMs)) return true;
  const previous = await derivePreviousKey(env, "secret-pepper");
  return previous !== undefined && isAmong(await macOf(previous, secret), secrets, atMs);
}

/** Looks at every secret, so time does not tell which one matched. */
function isAmong(presented: Uint8Array<ArrayBuffer>, secrets: readonly ClientSecret[], atMs: number): boolean {
  let matches = false;
  for (const { mac, expiresAtMs } of secrets) {
    const stored = decodeBase64Url(mac) ?? noMac;
    const equal = equalConstantTime(presented, stored);
    if (equal && (expiresAtMs === undefined || atMs < expiresAtMs)) matches = true;
  }
  if (secrets.length === 0) equalConstantTime(presented, noMac);
  return matches;
}
