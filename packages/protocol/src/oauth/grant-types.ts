import { namesOf } from "../encoding/names-of.ts";

/**
 * **The grant types**, each with what it requires of a client's registration. Types, client metadata and discovery derive
 * from this table; op-token has one module for each (`grants/`).
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2.1
 */
interface GrantTypeDescription {
  /** The response type that belongs to the grant; such a grant begins at the authorization endpoint and needs a redirection URI. */
  readonly responseType?: "code";
  /** Issues tokens on the client's authentication alone: a public client may not use it. */
  readonly confidentialOnly?: true;
  /** The client signs the grant: it needs registered keys. */
  readonly needsKeys?: true;
  /** Both hold for the client's own assertions, so only with a `jwt_bearer` policy: those of a trusted issuer need neither. */
  readonly byPolicy?: true;
}

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

/** The response types that grants begin with. The implicit and hybrid ones are not supported (RFC 9700 §2.1.2). */
export const responseTypes = ["code"] as const satisfies readonly GrantTypeDescription["responseType"][];
