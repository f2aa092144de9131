import * as base64url from "jose/base64url";
import { isJsonObject } from "../encoding/json-object.ts";

export interface DecodedJwt {
  readonly header: JwtHeader;
  readonly claims: JwtClaims;
}

export interface JwtHeader {
  readonly alg: string;
  readonly kid: string | undefined;
  readonly typ: string | undefined;
}

export type JwtClaims = Readonly<Record<string, unknown>>;

/** Maximum length of a token or assertion; larger ones are an attack on the parser or on base64. */
export const longestToken = 16 * 1024;

/** Whole quanta, then one of two or three characters whose unused trailing bits are zero (RFC 4648 §3.5). */
const segment = "((?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?)";
const compact = new RegExp(`^${segment}\\.${segment}\\.${segment}$`);
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * **Decodes a compact JWT without verifying it.** The result only selects the key to verify with. Returns `undefined` for anything except three
 * canonical unpadded base64url segments with JSON objects as header and claims, so that a token has one spelling and a cache keyed by its text
 * contains it once.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7515#section-7.1
 */
export function decodeJwt(token: string): DecodedJwt | undefined {
  if (token.length > longestToken) return undefined;
  const match = compact.exec(token);
  // An empty signature is an unsecured JWS (RFC 7518 §3.6), regardless of its `alg`.
  if (match === null || match[3] === "") return undefined;
  const header = decodeJsonPart(match[1]!);
  const claims = decodeJsonPart(match[2]!);
  if (header === undefined || claims === undefined) return undefined;
  const { alg, kid, typ, crit } = header;
  // RFC 7515 §4.1.11: a critical extension that is not understood makes the JWS invalid; none is understood here.
  if (crit !== undefined || typeof alg !== "string") return undefined;
  if (!isOptionalString(kid) || !isOptionalString(typ)) return undefined;
  return { header: { alg, kid, typ }, claims };
}

/** Decodes only the claims, to select the party whose key would verify them. */
export function decodeClaims(token: string): JwtClaims | undefined {
  return decodeJwt(token)?.claims;
}

/** Media types are case-insensitive, and `application/` may be omitted (RFC 7515 §4.1.9). */
export function isTokenType(typ: string | undefined, allowed: readonly string[]): boolean {
  if (typ === undefined) return false;
  const shorten = (text: string): string => text.toLowerCase().replace(/^application\//, "");
  return allowed.some((candidate) => shorten(candidate) === shorten(typ));
}

function isOptionalString(value: unknown): value is string | undefined {
  return value === undefined || typeof value === "string";
}

/** One part of a JWS or JWE in compact form; `undefined` if it is not base64url of a JSON object. */
export function decodeJsonPart(encoded: string): JwtClaims | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(base64url.decode(encoded)));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
