import {
  decodeBase64Url,
  encodeBase64Url,
  encodeUtf8,
  equalConstantTime,
  randomBase64Url,
} from "@edge-op/protocol/encoding/bytes";
import type { ClientSecret } from "../clients/client.ts";
import { deriveKey, derivePreviousKey, type MasterKeyBindings } from "../secrets/master-key.ts";

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

/** Compared if there is no secret, so that an unknown client costs the same comparison as a wrong secret. */
const noBytes = new Uint8Array(32);

/**
 * The text that matched a secret, by the secret's record. A returning client is compared with it instead of computing a MAC, which saves a twentieth
 * of the CPU of an introspection. It disappears with the record, which every administrative change replaces.
 */
const matchedTexts = new WeakMap<ClientSecret, Uint8Array<ArrayBuffer>>();

/** Whether `secret` is one of the live secrets, under the current pepper or, if it matches none, under the previous one. */
export async function matchesClientSecret(
  env: MasterKeyBindings,
  secret: string,
  secrets: readonly ClientSecret[],
  atMs: number,
): Promise<boolean> {
  const live = secrets.filter(({ expiresAtMs }) => expiresAtMs === undefined || atMs < expiresAtMs);
  const text = encodeUtf8(secret);
  if (findEqual(live, (held) => matchedTexts.get(held), text) !== undefined) return true;

  const found =
    findByMac(live, await macOf(await deriveKey(env, "secret-pepper"), secret)) ??
    (await findByPreviousMac(env, live, secret));
  if (found !== undefined) matchedTexts.set(found, text);
  return found !== undefined;
}

function findByMac(live: readonly ClientSecret[], mac: Uint8Array<ArrayBuffer>): ClientSecret | undefined {
  return findEqual(live, (held) => decodeBase64Url(held.mac), mac);
}

async function findByPreviousMac(
  env: MasterKeyBindings,
  live: readonly ClientSecret[],
  secret: string,
): Promise<ClientSecret | undefined> {
  const pepper = await derivePreviousKey(env, "secret-pepper");
  return pepper && findByMac(live, await macOf(pepper, secret));
}

/** Compares every secret, so that the time does not reveal which one matched. */
function findEqual(
  live: readonly ClientSecret[],
  bytesOf: (held: ClientSecret) => Uint8Array<ArrayBuffer> | undefined,
  presented: Uint8Array<ArrayBuffer>,
): ClientSecret | undefined {
  if (live.length === 0) equalConstantTime(presented, noBytes);
  const equal = live.filter((held) => {
    const bytes = bytesOf(held);
    // A missing value never matches, whatever is presented.
    return equalConstantTime(presented, bytes ?? noBytes) && bytes !== undefined;
  });
  return equal[0];
}
