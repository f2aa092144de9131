import { fetchJson } from "./digest.ts";
import { type TokenClaims, type TokenValidator, validateClaims } from "./token-validation.ts";

export interface IntrospectionOptions {
  /** `https://op.example.com/introspect` */
  readonly endpoint: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** If given, tokens of another issuer are refused. */
  readonly issuer?: string;
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
}

/**
 * **Validates access tokens at the provider's introspection endpoint** (RFC 7662): a revocation takes effect at once, at the cost of one HTTP request
 * per validation. It is for runtimes without a Service Binding to the provider, and caches nothing.
 */
export function introspectionValidator(options: IntrospectionOptions): TokenValidator {
  const { endpoint, issuer, timeoutMs = 5_000, fetch: fetchResponse } = options;
  const authorization = basicAuthorization(options);
  return async (resource, token, validation) => {
    const claims: TokenClaims & { readonly active?: unknown } = await fetchJson(endpoint, {
      method: "POST",
      headers: {
        Authorization: authorization,
        Accept: "application/json",
        "Content-Type": "application/x-www-form-urlencoded",
      },
      body: new URLSearchParams({ token, token_type_hint: "access_token" }).toString(),
      timeoutMs,
      fetch: fetchResponse,
    });
    // §2.2: "active" is REQUIRED, a boolean.
    if (typeof claims.active !== "boolean") throw new Error(`${endpoint}: not an introspection response`);
    if (!claims.active || (issuer !== undefined && claims.iss !== issuer)) return null;
    return validateClaims(claims, resource, validation);
  };
}

/** RFC 6749 §2.3.1: both parts are form-encoded before base64. */
function basicAuthorization({ clientId, clientSecret }: IntrospectionOptions): string {
  const encode = (text: string) => new URLSearchParams([["", text]]).toString().slice(1);
  return `Basic ${btoa(`${encode(clientId)}:${encode(clientSecret)}`)}`;
}
