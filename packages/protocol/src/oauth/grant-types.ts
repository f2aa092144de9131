import { namesOf } from "../encoding/json-object.ts";

interface GrantTypeDescription {
  /** The response type of the grant. Such a grant starts at the authorization endpoint and requires a redirection URI. */
  readonly responseType?: "code";
  /** Tokens are issued on the client's authentication alone, so a public client may not use the grant. */
  readonly confidentialOnly?: true;
  /** The client signs the grant, so it needs registered keys. */
  readonly needsKeys?: true;
  /**
   * Both requirements apply only to the client's own assertions, and thus only with a `jwt_bearer` policy; assertions of a trusted issuer need
   * neither.
   */
  readonly byPolicy?: true;
}

/**
 * **The grant types**, each with what it requires of a client's registration. Types, client metadata and discovery derive from this table; op-token
 * has one module for each (`grants/`).
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2.1
 */
const grantTypeTable = {
  authorization_code: { responseType: "code" },
  refresh_token: {},
  client_credentials: { confidentialOnly: true },
  "urn:ietf:params:oauth:grant-type:device_code": {},
  "urn:ietf:params:oauth:grant-type:token-exchange": { confidentialOnly: true },
  "urn:ietf:params:oauth:grant-type:jwt-bearer": { confidentialOnly: true, needsKeys: true, byPolicy: true },
} as const satisfies Readonly<Record<string, GrantTypeDescription>>;

export type GrantType = keyof typeof grantTypeTable;

export const grantTypes = namesOf(grantTypeTable);

export function describeGrantType(type: GrantType): GrantTypeDescription {
  return grantTypeTable[type];
}

/** The response types of the grants. Implicit and hybrid ones are not supported (RFC 9700 §2.1.2). */
export const responseTypes = ["code"] as const satisfies readonly GrantTypeDescription["responseType"][];
