import { namesOf } from "../encoding/json-object.ts";

/**
 * **The client authentication methods**, each with the credential by which a client proves its identity. Types, client
 * metadata and discovery derive from this table; `callers/` of `shared` reads and verifies what a request presents.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ClientAuthentication
 * @see https://www.rfc-editor.org/rfc/rfc8705#section-2
 */
export const clientAuthMethodTable = {
  client_secret_basic: { credential: "secret" },
  client_secret_post: { credential: "secret" },
  private_key_jwt: { credential: "key" },
  tls_client_auth: { credential: "certificate" },
  self_signed_tls_client_auth: { credential: "certificate" },
  none: { credential: "none" },
} as const satisfies Readonly<Record<string, { readonly credential: "secret" | "key" | "certificate" | "none" }>>;

export type ClientAuthMethod = keyof typeof clientAuthMethodTable;

export const clientAuthMethods = namesOf(clientAuthMethodTable);

/** The methods of confidential clients: all except `none`. */
export const confidentialAuthMethods = clientAuthMethods.filter((method) => !isPublicMethod(method));

/** Whether a client with this method is public (RFC 6749 §2.1): it does not prove its identity. */
export function isPublicMethod(method: ClientAuthMethod): boolean {
  return clientAuthMethodTable[method].credential === "none";
}

export function usesSecret(method: ClientAuthMethod): boolean {
  return clientAuthMethodTable[method].credential === "secret";
}

export function usesKey(method: ClientAuthMethod): boolean {
  return clientAuthMethodTable[method].credential === "key";
}

export function usesCertificate(method: ClientAuthMethod): boolean {
  return clientAuthMethodTable[method].credential === "certificate";
}
