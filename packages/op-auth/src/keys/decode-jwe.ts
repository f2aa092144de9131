import { decodeJsonPart, longestToken } from "@edge-op/protocol/jwt/decode-claims";
import {
  type ContentEncryptionAlgorithm,
  contentEncryptionAlgorithms,
  type KeyManagementAlgorithm,
  keyManagementAlgorithms,
} from "@edge-op/protocol/jwt/encryption-algorithms";

/**
 * **Reads the header of a compact JWE** before any cryptography. `undefined` for algorithms that this provider does not have (`dir`,
 * RSA1_5, passwords with their iteration counts), for compression, whose output has no bound, and for critical extensions.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7516#section-4.1
 * @see https://www.rfc-editor.org/rfc/rfc8725#section-3.6
 */
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
