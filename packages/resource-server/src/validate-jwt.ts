import { createRemoteJWKSet, customFetch, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { fetchJson } from "./digest.ts";
import { type TokenClaims, type TokenValidator, usualToleranceSeconds, validateClaims } from "./token-validation.ts";

export interface JwtValidatorOptions {
  readonly issuer: string;
  /** Read from the issuer's metadata by default (RFC 8414). */
  readonly jwksUri?: string;
  /** All asymmetric algorithms by default. */
  readonly algorithms?: readonly string[];
  /** The type of the tokens: `at+jwt` by default (RFC 9068 §2.1), or `JWT` if the rules of the resource choose that. */
  readonly typ?: "at+jwt" | "JWT";
  readonly clockToleranceSeconds?: number;
  /** A revoked key is accepted for this long. */
  readonly keysMaxAgeSeconds?: number;
  /** For example that of a Service Binding to the provider. */
  readonly fetch?: typeof fetch;
}

const asymmetric = [
  "ES256",
  "EdDSA",
  "Ed25519",
  "PS256",
  "RS256",
  "ES384",
  "ES512",
  "PS384",
  "PS512",
  "RS384",
  "RS512",
];
const timeoutMs = 5_000;

/**
 * **Validates access tokens that are JWTs in the resource server itself** (RFC 9068 §4). The issuer's keys are cached and read again if a token names
 * an unknown key, at most every 30 s, and after `keysMaxAgeSeconds`. A revoked token stays valid until it expires; if that is too long, use the
 * provider's entrypoint or introspection. Cost: 1 verification; a cold isolate reads metadata and keys.
 */
export function jwtValidator(options: JwtValidatorOptions): TokenValidator {
  const { issuer, algorithms = asymmetric, typ = "at+jwt", clockToleranceSeconds = usualToleranceSeconds } = options;
  const keys = issuerKeys(options);
  return async (resource, token, validation) => {
    const claims = await verify(token, await keys(), {
      issuer,
      algorithms: [...algorithms],
      typ,
      clockTolerance: clockToleranceSeconds,
      // Among a provider's JWTs of the type `JWT`, only access tokens have `client_id`.
      requiredClaims: ["iss", "exp", "aud", "sub", "client_id", "iat", "jti"],
    });
    return claims === undefined
      ? null
      : validateClaims(claims as TokenClaims, resource, validation, clockToleranceSeconds);
  };
}

/** The key set, created once its address is known. Only the result is kept, because a Worker's request cannot wait for another request's fetch. */
function issuerKeys(options: JwtValidatorOptions): () => Promise<JWTVerifyGetKey> {
  const { issuer, jwksUri, keysMaxAgeSeconds = 600, fetch: fetchKeys } = options;
  let keys: JWTVerifyGetKey | undefined;
  return async () => {
    if (keys === undefined) {
      const uri = jwksUri ?? (await discoverJwksUri(issuer, fetchKeys));
      keys ??= createRemoteJWKSet(new URL(uri), {
        timeoutDuration: timeoutMs,
        cacheMaxAge: keysMaxAgeSeconds * 1000,
        ...(fetchKeys === undefined ? {} : { [customFetch]: (url, init) => fetchKeys(url, init) }),
      });
    }
    return keys;
  };
}

/** @see https://www.rfc-editor.org/rfc/rfc8414#section-3 */
async function discoverJwksUri(issuer: string, fetchMetadata?: typeof fetch): Promise<string> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname === "/" ? "" : pathname.replace(/\/$/, "");
  const url = `${origin}/.well-known/oauth-authorization-server${path}`;
  const metadata = await fetchJson(url, { timeoutMs, fetch: fetchMetadata });
  // §3.3: "MUST be identical".
  if (metadata["issuer"] !== issuer) throw new Error(`${url} is the metadata of another issuer`);
  if (typeof metadata["jwks_uri"] !== "string") throw new Error(`${url} names no jwks_uri`);
  return metadata["jwks_uri"];
}

type VerifyOptions = NonNullable<Parameters<typeof jwtVerify>[2]>;

/** `undefined` for a token that is not valid; unreadable keys are an error. */
async function verify(token: string, keys: JWTVerifyGetKey, options: VerifyOptions): Promise<JWTPayload | undefined> {
  try {
    return (await jwtVerify(token, keys, options)).payload;
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

const refusals = [
  errors.JWTInvalid,
  errors.JWTExpired,
  errors.JWTClaimValidationFailed,
  errors.JWSInvalid,
  errors.JWSSignatureVerificationFailed,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
  errors.JWKSNoMatchingKey,
  // The token has no `kid`, which RFC 9068 does not require, and there are several keys of its algorithm.
  errors.JWKSMultipleMatchingKeys,
];

function isRefusal(error: unknown): boolean {
  return refusals.some((refusal) => error instanceof refusal);
}
