import { decodeJwt } from "jose";
import { limits } from "../oauth/limits.ts";

/**
 * **The claims a JWT makes, unverified**: only for finding out whose key must verify it. `undefined` if it is no JWT.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7519#section-7.2
 */
export function decodeClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  if (token.length > limits.tokenBytes) return undefined;
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}
