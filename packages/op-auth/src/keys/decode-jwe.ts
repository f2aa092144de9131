/**
 * **Reads the header of a compact JWE** before any cryptography. The result is `undefined` for unsupported algorithms (`dir`, RSA1_5, PBES2 with its
 * iteration counts), for compression, whose output is unbounded, and for critical extensions.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7516#section-4.1
 * @see https://www.rfc-editor.org/rfc/rfc8725#section-3.6
 */

import { longestToken } from "@edge-op/protocol/jwt/decode-claims";
import {
  type ContentEncryptionAlgorithm,
  contentEncryptionAlgorithms,
  type KeyManagementAlgorithm,
  keyManagementAlgorithms,
} from "@edge-op/protocol/jwt/encryption-algorithms";
import { base64url } from "jose";

export interface JweHeader {
  readonly alg: KeyManagementAlgorithm;
  readonly enc: ContentEncryptionAlgorithm;
  readonly kid: string | undefined;
}

const segment = "[A-Za-z0-9_-]";
/** Only the key of direct agreement (ECDH-ES) is empty. */
const compact = new RegExp(`^(${segment}+)\\.${segment}*\\.${segment}+\\.${segment}+\\.${segment}+$`);
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Whether a text has the form of a JWE: a JWS has three segments. */
export function isEncrypted(token: string): boolean {
  return token.split(".", 6).length === 5;
}

export function decodeJweHeader(token: string): JweHeader | undefined {
  if (token.length > longestToken) return undefined;
  const encoded = compact.exec(token)?.[1];
  const header = encoded === undefined ? undefined : parseObject(encoded);
  if (header === undefined) return undefined;
  const { alg, enc, kid, zip, crit } = header;
  if (zip !== undefined || crit !== undefined) return undefined;
  if (!isOneOf(keyManagementAlgorithms, alg) || !isOneOf(contentEncryptionAlgorithms, enc)) return undefined;
  return kid === undefined || typeof kid === "string" ? { alg, enc, kid } : undefined;
}

function isOneOf<Value extends string>(values: readonly Value[], value: unknown): value is Value {
  return values.some((each) => each === value);
}

function parseObject(encoded: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(base64url.decode(encoded)));
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
