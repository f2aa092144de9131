import { encodeBase64Url, encodeUtf8 } from "../encoding/bytes.ts";
import { type SigningAlgorithm, signingAlgorithmTable } from "./signing-algorithms.ts";

/** The encoded protected header of a JWS, which is constant for a key and a `typ`. */
export function encodeJwsHeader(header: {
  readonly alg: SigningAlgorithm;
  readonly kid: string;
  readonly typ: string | undefined;
}): string {
  return encodeJson(header);
}

/**
 * **Signs a compact JWS** whose payload is JSON; `undefined` members are omitted. No library is used, because its checks of header and key, which are
 * this provider's own, cost half as much as an ES256 signature.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7515#section-5.1
 */
export async function signCompact(
  alg: SigningAlgorithm,
  key: CryptoKey,
  header: string,
  payload: Readonly<Record<string, unknown>>,
): Promise<string> {
  const input = `${header}.${encodeJson(payload)}`;
  const signature = await crypto.subtle.sign(signingAlgorithmTable[alg].signParameters, key, encodeUtf8(input));
  return `${input}.${encodeBase64Url(signature)}`;
}

function encodeJson(value: unknown): string {
  return encodeBase64Url(encodeUtf8(JSON.stringify(value)));
}
