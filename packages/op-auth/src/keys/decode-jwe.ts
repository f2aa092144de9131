/**
 * **Reads the header of a compact JWE** before any cryptography. The result is `undefined` for unsupported algorithms (`dir`, RSA1_5, PBES2 with its
 * iteration counts), for compression, whose output is unbounded, and for critical extensions.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7516#section-4.1
 * @see https://www.rfc-editor.org/rfc/rfc8725#section-3.6
 */

import { decodeJsonPart, longestToken } from "@edge-op/protocol/jwt/decode-claims";
import {
  type ContentEncryptionAlgorithm,
  contentEncryptionAlgorithms,
  type KeyManagementAlgorithm,
  keyManagementAlgorithms,
} from "@edge-op/protocol/jwt/encryption-algorithms";

export interface JweHeader {
  readonly alg: KeyManagementAlgorithm;
  readonly enc: ContentEncryptionAlgorithm;
  readonly kid: string | undefined;
}

const segment = "[A-Za-z0-9_-]";
/** Only the key of direct agreement (ECDH-ES) is empty. */
const compact = new RegExp(`^(${segment}+)\\.${segment}*\\.${segment}+\\.${segment}+\\.${segment}+$`);

/** Whether a text has the form of a JWE: a JWS has three segments. */
export function isEncrypted(token: string): boolean {
  return token.split(".", 6).length === 5;
}

export function decodeJweHeader(token: string): JweHeader | undefined {
  if (token.length > longestToken) return undefined;
  const encoded = compact.exec(token)?.[1];
  const header = encoded === undefined ? undefined : decodeJsonPart(encoded);
  if (header === undefined) return undefined;
  const { alg, enc, kid, zip, crit } = header;
  if (zip !== undefined || crit !== undefined) return undefined;
  if (!isOneOf(keyManagementAlgorithms, alg) || !isOneOf(contentEncryptionAlgorithms, enc)) return undefined;
  return kid === undefined || typeof kid === "string" ? { alg, enc, kid } : undefined;
}

function isOneOf<Value extends string>(values: readonly Value[], value: unknown): value is Value {
  return values.some((each) => each === value);
}
