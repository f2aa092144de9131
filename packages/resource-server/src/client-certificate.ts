import { encodeBase64Url } from "./digest.ts";

/**
 * **The thumbprint of the certificate with which the client opened the connection**, as Cloudflare reports it in `request.cf` (RFC 8705 §3.1);
 * `undefined` without one. TLS has proven possession of its key; its issuer does not matter for a bound token.
 */
export function certificateThumbprint(request: Request): string | undefined {
  const { cf } = request as { readonly cf?: { readonly tlsClientAuth?: Readonly<Record<string, unknown>> } };
  const { certPresented, certRevoked, certFingerprintSHA256: fingerprint } = cf?.tlsClientAuth ?? {};
  if (
    certPresented !== "1" ||
    certRevoked === "1" ||
    typeof fingerprint !== "string" ||
    !/^[0-9a-f]{64}$/i.test(fingerprint)
  )
    return undefined;
  const bytes = fingerprint.match(/../g) ?? [];
  return encodeBase64Url(Uint8Array.from(bytes, (byte) => Number.parseInt(byte, 16)));
}
