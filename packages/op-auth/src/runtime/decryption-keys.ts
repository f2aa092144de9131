import { decodeJsonPart, longestToken } from "@edge-op/protocol/jwt/decode-claims";
import {
  type ContentEncryptionAlgorithm,
  contentEncryptionAlgorithms,
  type KeyManagementAlgorithm,
  keyManagementAlgorithms,
} from "@edge-op/protocol/jwt/encryption-algorithms";
import { isEncryptionAlgorithm } from "@edge-op/protocol/jwt/key-algorithms";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { KeyBindings, KeyRing } from "@edge-op/shared/keys/key-ring";
import { isVerifying, type KeySchedule, type ScheduledKey } from "@edge-op/shared/keys/key-schedule";
import { unwrapPrivateKey } from "@edge-op/shared/keys/wrapped-private-key";
import { onFirstUse } from "@edge-op/shared/runtime/on-first-use";

const decryption = onFirstUse(() => import("jose/jwe/compact/decrypt"));
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** Keys tried for a JWE that names none: the published one, its predecessor, its successor, and one more during a rotation. */
const keysTried = 4;

/**
 * **Decrypts what clients encrypted with this provider's published keys**, by the schedule and the clock: a key decrypts until it retires, a day
 * after it was last published. The algorithm is that of the schedule's key (K4). The first key of an algorithm may have been published a moment ago,
 * so KeyManager is called if this isolate has none. Cost warm: 0 calls, 1 private key operation.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7516#section-5.2
 */
export class DecryptionKeys {
  readonly #keyRing: Pick<KeyRing, "schedule">;
  /** Imported keys of the schedule by kid. */
  #privateKeys = new Map<string, CryptoKey>();

  constructor(keyRing: Pick<KeyRing, "schedule">) {
    this.#keyRing = keyRing;
  }

  /** The plaintext of a compact JWE; `undefined`, without the reason, if it is not intact or not encrypted to a key of this provider. */
  async decrypt(context: RequestContext<KeyBindings>, jwe: string): Promise<string | undefined> {
    const header = decodeJweHeader(jwe);
    if (header === undefined) return undefined;
    const schedule = await this.#keyRing.schedule(context, [header.alg]);
    for (const key of select(schedule, header, context.arrivedAtMs)) {
      const text = await decryptWith(jwe, header, await this.#privateKey(context, key));
      if (text !== undefined) return text;
    }
    return undefined;
  }

  async #privateKey(context: RequestContext<KeyBindings>, key: ScheduledKey): Promise<CryptoKey> {
    const held = this.#privateKeys.get(key.kid);
    if (held !== undefined) return held;
    const unwrapped = await unwrapPrivateKey(context.env, key.kid, key.alg, key.wrappedPrivateKey);
    const { keys } = await this.#keyRing.schedule(context);
    const scheduled = new Set(keys.map(({ kid }) => kid));
    this.#privateKeys = new Map([...this.#privateKeys].filter(([kid]) => scheduled.has(kid)));
    this.#privateKeys.set(key.kid, unwrapped);
    return unwrapped;
  }
}

/** Without a `kid`, all keys of the algorithm, newest first. */
function select({ keys }: KeySchedule, { alg, kid }: JweHeader, atMs: number): readonly ScheduledKey[] {
  return keys
    .filter((key) => isEncryptionAlgorithm(key.alg) && key.alg === alg && (kid === undefined || key.kid === kid))
    .filter((key) => isVerifying(key, atMs))
    .sort((a, b) => b.signFromMs - a.signFromMs)
    .slice(0, keysTried);
}

/** Returns one result for every failure of the library (wrong key, changed octet, point that is not on the curve). */
async function decryptWith(jwe: string, { alg, enc }: JweHeader, key: CryptoKey): Promise<string | undefined> {
  const { compactDecrypt } = await decryption();
  try {
    const options = { keyManagementAlgorithms: [alg], contentEncryptionAlgorithms: [enc] };
    const { plaintext } = await compactDecrypt(jwe, key, options);
    return utf8.decode(plaintext);
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}

interface JweHeader {
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

/**
 * **Reads the header of a compact JWE** before any cryptography. The result is `undefined` for unsupported algorithms (`dir`, RSA1_5, PBES2 with its
 * iteration counts), for compression, whose output is unbounded, and for critical extensions.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7516#section-4.1
 * @see https://www.rfc-editor.org/rfc/rfc8725#section-3.6
 */
function decodeJweHeader(token: string): JweHeader | undefined {
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
