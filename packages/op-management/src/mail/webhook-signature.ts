import { encodeUtf8 } from "@edge-op/protocol/encoding/bytes";

/** How far the time of a message may be from the clock: an older one is a replay. */
const toleranceMs = 5 * 60_000;

interface SignedMessage {
  readonly id: string | null;
  /** Seconds since the epoch. */
  readonly timestamp: string | null;
  /** `v1,<base64>`, several separated by spaces while a secret is replaced. */
  readonly signatures: string | null;
  readonly body: string;
}

/**
 * **Verifies the signature of a webhook** by the scheme of Standard Webhooks, which Svix has too: HMAC-SHA-256 of id, time and body. `secret` is
 * `whsec_` and the key in base64; a secret of another form verifies nothing.
 *
 * @see https://www.standardwebhooks.com/
 */
export async function isSignedWebhook(
  secret: string,
  { id, timestamp, signatures, body }: SignedMessage,
  nowMs: number,
): Promise<boolean> {
  if (id === null || timestamp === null || signatures === null || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(nowMs - Number(timestamp) * 1000) > toleranceMs) return false;
  const keyBytes = decodeBase64(secret.replace(/^whsec_/, ""));
  if (keyBytes === undefined || keyBytes.byteLength === 0) return false;
  const key = await crypto.subtle.importKey("raw", keyBytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const signed = encodeUtf8(`${id}.${timestamp}.${body}`);
  for (const each of signatures.split(" ").slice(0, 10)) {
    const signature = each.startsWith("v1,") ? decodeBase64(each.slice(3)) : undefined;
    if (signature !== undefined && (await crypto.subtle.verify("HMAC", key, signature, signed))) return true;
  }
  return false;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
