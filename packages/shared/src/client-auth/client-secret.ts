import { deriveKey, type MasterKeyBindings } from "../keys/master-key.ts";
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
  const pepper = await deriveKey(env, "secret-pepper");
  return encodeBase64Url(await crypto.subtle.sign("HMAC", pepper, encodeUtf8(secret)));
}

/** A MAC that no secret has: an unknown client costs the same comparison as a wrong secret. */
const noMac = new Uint8Array(32);

/** Whether `secret` is one of the live ones. Looks at every secret, so time does not tell which one matched. */
export async function matchesClientSecret(
  env: MasterKeyBindings,
  secret: string,
  secrets: readonly ClientSecret[],
  atMs: number,
): Promise<boolean> {
  const presented = decodeBase64Url(await macClientSecret(env, secret))!;
  let matches = false;
  for (const { mac, expiresAtMs } of secrets) {
    const stored = decodeBase64Url(mac) ?? noMac;
    const equal = equalConstantTime(presented, stored);
    if (equal && (expiresAtMs === undefined || atMs < expiresAtMs)) matches = true;
  }
  if (secrets.length === 0) equalConstantTime(presented, noMac);
  return matches;
}
