import { decodeBase64, encodeBase64Url, encodeUtf8, equalConstantTime, hexOf, sha256 } from "../encoding/bytes.ts";

/** A client's certificate. The TLS handshake has proven that the client has its private key. */
export interface ClientCertificate {
  /** SHA-256 of its DER encoding, base64url: the `x5t#S256` of RFC 8705 §3.1. */
  readonly thumbprint: string;
  /** Whether its chain was verified against a CA that the operator trusts. */
  readonly isVerified: boolean;
  /** Absent if it was too large for the platform to pass on. */
  readonly der: Uint8Array<ArrayBuffer> | undefined;
}

/** The sources that show who terminated TLS. `cf` is read only if no proxy is trusted, because reading it parses it. */
export interface CertificateContext {
  readonly cf: Partial<Pick<IncomingRequestCfProperties, "tlsClientAuth">> | undefined;
  /** SHA-256 hashes of the keys of trusted proxies, hex. */
  readonly settings: { readonly mtlsProxyKeyHashes: readonly string[] };
}

/** Cloudflare forwards certificates of up to 10 KB. */
const longestField = 16 * 1024;

/** The headers of a trusted proxy, including its key. The front door removes those of any other sender. */
export const certificateHeaders = ["Client-Cert", "Client-Cert-Chain", "Client-Cert-Verified", "Client-Cert-Proxy-Key"];

/**
 * **The client certificate of a request**, from the party that terminated TLS: Cloudflare (`cf.tlsClientAuth`), or a proxy that sends `Client-Cert`
 * (RFC 9440) with the key whose hash is `MTLS_PROXY_KEY_SHA256`. A header without that key has no effect, because any sender can set it. A revoked
 * certificate counts as none. Cost: 0 without a certificate; 1 or 2 hashes.
 *
 * @see https://developers.cloudflare.com/ssl/client-certificates/client-certificate-variables/
 */
export async function readClientCertificate(
  context: CertificateContext,
  { headers }: Pick<Request, "headers">,
): Promise<ClientCertificate | undefined> {
  // The certificate in `cf` would be the proxy's own.
  if (await isTrustedProxy(context.settings, headers)) {
    return fromField(headers.get("Client-Cert"), headers.get("Client-Cert-Verified") === "SUCCESS");
  }
  const presented = context.cf?.tlsClientAuth;
  if (presented?.certPresented !== "1" || presented.certRevoked === "1") return undefined;
  return fromField(presented.certRFC9440, presented.certVerified === "SUCCESS", presented.certFingerprintSHA256);
}

/** Whether the proxy that the operator configured has sent the request. */
export async function isTrustedProxy(
  { mtlsProxyKeyHashes }: CertificateContext["settings"],
  headers: Headers,
): Promise<boolean> {
  const key = mtlsProxyKeyHashes.length === 0 ? null : headers.get("Client-Cert-Proxy-Key");
  if (key === null) return false;
  const hash = encodeUtf8(hexOf(await sha256(key)));
  return mtlsProxyKeyHashes.some((trusted) => equalConstantTime(hash, encodeUtf8(trusted)));
}

export async function certificateThumbprint(der: Uint8Array<ArrayBuffer>): Promise<string> {
  return encodeBase64Url(await crypto.subtle.digest("SHA-256", der));
}

/** Reads `field`, the DER encoding as a Byte Sequence (RFC 9651 §3.3.5). */
async function fromField(
  field: string | null | undefined,
  isVerified: boolean,
  fingerprint = "",
): Promise<ClientCertificate | undefined> {
  const encoded = /^:([A-Za-z0-9+/]+={0,2}):$/.exec(field ?? "")?.[1];
  const der = encoded === undefined || encoded.length > longestField ? undefined : decodeBase64(encoded);
  if (der !== undefined) return { thumbprint: await certificateThumbprint(der), isVerified, der };
  if (!/^[0-9a-f]{64}$/i.test(fingerprint)) return undefined;
  const octets = Uint8Array.from(fingerprint.match(/../g)!, (pair) => Number.parseInt(pair, 16));
  return { thumbprint: encodeBase64Url(octets), isVerified, der: undefined };
}
