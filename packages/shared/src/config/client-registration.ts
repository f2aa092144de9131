import { isPrivateUseName } from "@edge-op/protocol/oauth/uris";

/** **The policies that decide who may register clients** at `/register` (RFC 7591). */
export const clientRegistrationPolicies = ["off", "token", "open"] as const;

/** An issuer of software statements, and the location of its keys. */
export interface StatementIssuer {
  readonly issuer: string;
  readonly jwksUri: string;
}

export function parseStatementIssuers(name: string, text: string): readonly StatementIssuer[] {
  const parts = text.split(/\s+/).filter((part) => part !== "");
  return parts.map((part) => {
    const at = part.indexOf("=");
    const [issuer, jwksUri] = [part.slice(0, at), part.slice(at + 1)];
    if (at < 1 || !URL.canParse(jwksUri)) {
      throw new Error(`${name} must be <issuer>=<jwks_uri>, separated by spaces, not "${part}"`);
    }
    return { issuer, jwksUri };
  });
}

/** Schemes without a dot; one with a dot is allowed anyway (RFC 8252 §7.1). */
export function parsePrivateUseSchemes(name: string, text: string): readonly string[] {
  const schemes = text.split(/\s+/).filter((scheme) => scheme !== "");
  const wrong = schemes.find((scheme) => !isPrivateUseName(scheme));
  if (wrong === undefined) return schemes;
  throw new Error(
    `${name} must be private-use schemes without a dot, in lower case, separated by spaces, not "${wrong}"`,
  );
}
