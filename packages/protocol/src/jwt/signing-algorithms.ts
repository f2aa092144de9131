import { encodeBase64Url, encodeUtf8 } from "../encoding/bytes.ts";
import { namesOf } from "../encoding/json-object.ts";

interface AlgorithmDescription {
  /** The `kty` and `crv` of a JWK that may have created the signature; a key type without curves has no `curve`. */
  readonly keyType: "EC" | "RSA" | "OKP";
  readonly curve: string | undefined;
  /** The hash of the signature, for `at_hash` and `c_hash` (OIDC Core §3.1.3.6); Ed25519 uses SHA-512 (RFC 8032 §5.1). */
  readonly hash: "SHA-256" | "SHA-512";
  /** WebCrypto's parameters for signing, importing a key and generating one. */
  readonly signParameters: SubtleCryptoSignAlgorithm;
  readonly importParameters: SubtleCryptoImportKeyAlgorithm;
  readonly generateParameters: SubtleCryptoGenerateKeyAlgorithm;
}

/**
 * **The signature algorithms** of this provider and of its clients; never symmetric ones or `none`. Types, settings, client metadata, discovery, key
 * generation and key selection derive from this table.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7518#section-3
 * @see https://www.rfc-editor.org/rfc/rfc8037#section-3.1
 */
export const signingAlgorithmTable = {
  ES256: {
    keyType: "EC",
    curve: "P-256",
    hash: "SHA-256",
    signParameters: { name: "ECDSA", hash: "SHA-256" },
    importParameters: { name: "ECDSA", namedCurve: "P-256" },
    generateParameters: { name: "ECDSA", namedCurve: "P-256" },
  },
  RS256: {
    keyType: "RSA",
    curve: undefined,
    hash: "SHA-256",
    signParameters: { name: "RSASSA-PKCS1-v1_5" },
    importParameters: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
    generateParameters: {
      name: "RSASSA-PKCS1-v1_5",
      hash: "SHA-256",
      modulusLength: 2048,
      publicExponent: new Uint8Array([1, 0, 1]),
    },
  },
  EdDSA: {
    keyType: "OKP",
    curve: "Ed25519",
    hash: "SHA-512",
    signParameters: { name: "Ed25519" },
    importParameters: { name: "Ed25519" },
    generateParameters: { name: "Ed25519" },
  },
  PS256: {
    keyType: "RSA",
    curve: undefined,
    hash: "SHA-256",
    // RFC 7518 §3.5: the salt is as long as the hash.
    signParameters: { name: "RSA-PSS", saltLength: 32 },
    importParameters: { name: "RSA-PSS", hash: "SHA-256" },
    generateParameters: {
      name: "RSA-PSS",
      hash: "SHA-256",
      modulusLength: 2048,
      publicExponent: new Uint8Array([1, 0, 1]),
    },
  },
} as const satisfies Readonly<Record<string, AlgorithmDescription>>;

export type SigningAlgorithm = keyof typeof signingAlgorithmTable;

export const signingAlgorithms = namesOf(signingAlgorithmTable);

export function isSigningAlgorithm(alg: string): alg is SigningAlgorithm {
  return Object.hasOwn(signingAlgorithmTable, alg);
}

/**
 * **The algorithms that a trusted issuer may sign with**, and the keys that may have created such a signature: those above, and those that clouds and
 * JWT-SVIDs use. `none` and symmetric algorithms are never allowed.
 */
export const issuerKeyForms = {
  ES256: { keyType: "EC", curve: "P-256" },
  ES384: { keyType: "EC", curve: "P-384" },
  ES512: { keyType: "EC", curve: "P-521" },
  RS256: { keyType: "RSA", curve: undefined },
  RS384: { keyType: "RSA", curve: undefined },
  RS512: { keyType: "RSA", curve: undefined },
  PS256: { keyType: "RSA", curve: undefined },
  PS384: { keyType: "RSA", curve: undefined },
  PS512: { keyType: "RSA", curve: undefined },
  EdDSA: { keyType: "OKP", curve: "Ed25519" },
} as const satisfies Readonly<Record<string, Pick<AlgorithmDescription, "keyType" | "curve">>>;

export type IssuerAlgorithm = keyof typeof issuerKeyForms;

export const issuerAlgorithms = namesOf(issuerKeyForms);

export function isIssuerAlgorithm(alg: string): alg is IssuerAlgorithm {
  return Object.hasOwn(issuerKeyForms, alg);
}

/** The encoded protected header of a JWS, which is constant for a key and a `typ`. */
export function encodeJwsHeader(header: {
  readonly alg: SigningAlgorithm;
  readonly kid: string;
  readonly typ: string | undefined;
}): string {
  return encodeJson(header);
}

/**
 * **Signs a compact JWS** whose payload is JSON; `undefined` members are omitted. No library is used, because its checks of header and key, which are
 * this provider's own, cost half as much as an ES256 signature.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7515#section-5.1
 */
export async function signCompact(
  alg: SigningAlgorithm,
  key: CryptoKey,
  header: string,
  payload: Readonly<Record<string, unknown>>,
): Promise<string> {
  const input = `${header}.${encodeJson(payload)}`;
  const signature = await crypto.subtle.sign(signingAlgorithmTable[alg].signParameters, key, encodeUtf8(input));
  return `${input}.${encodeBase64Url(signature)}`;
}

function encodeJson(value: unknown): string {
  return encodeBase64Url(encodeUtf8(JSON.stringify(value)));
}
