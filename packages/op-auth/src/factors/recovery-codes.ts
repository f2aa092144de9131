import type { Browser } from "@edge-op/pages/cookies";
import { decodeBase64Url, encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { type CodeForm, readTypedCode } from "@edge-op/protocol/encoding/typed-code";
import { macText } from "@edge-op/shared/secrets/mac";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { recoveryCodesOfSet } from "@edge-op/shared/users/factors";

/**
 * **Recovery codes**: 120 random bits each, so that a hash without a key is enough (NIST SP 800-63B-4 §3.1.2.2 asks for 112) and they survive a new
 * master key. Written in Crockford's base32, in groups of four. Pure, except for randomness.
 */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const characters = 24;
const form: CodeForm = { alphabet, length: characters, group: 4 };
const hashBytes = 16;

export interface RecoveryCodes {
  /** As they are shown. */
  readonly codes: readonly string[];
  readonly hashes: string;
}

/** `random` returns at least 24 bytes for each code. */
export async function makeRecoveryCodes(
  sub: string,
  random: (index: number) => Promise<Uint8Array> = async () => crypto.getRandomValues(new Uint8Array(characters)),
): Promise<RecoveryCodes> {
  const raw = await Promise.all(
    Array.from({ length: recoveryCodesOfSet }, async (_, index) => toCode(await random(index))),
  );
  const hashes = await Promise.all(raw.map((code) => hashOf(sub, code)));
  const joined = new Uint8Array(hashBytes * raw.length);
  for (const [index, hash] of hashes.entries()) joined.set(hash, index * hashBytes);
  return { codes: raw.map((code) => code.replace(/(.{4})(?=.)/g, "$1-")), hashes: encodeBase64Url(joined) };
}

/** The place of a code in a set, `undefined` if it is in none. */
export async function findRecoveryCode(sub: string, hashes: string, code: string): Promise<number | undefined> {
  const known = decodeBase64Url(hashes) ?? new Uint8Array();
  const hash = encodeBase64Url(await hashOf(sub, code));
  const found = Array.from({ length: known.length / hashBytes }, (_, index) => index).find(
    (index) => encodeBase64Url(known.slice(index * hashBytes, (index + 1) * hashBytes)) === hash,
  );
  return found;
}

/** The canonical form of a typed recovery code; `undefined` for any other text. */
export function readRecoveryCode(typed: string): string | undefined {
  return readTypedCode(typed.normalize("NFKC").replace(/O/gi, "0").replace(/[IL]/gi, "1"), form);
}

function toCode(random: Uint8Array): string {
  // 32 characters divide 256: each byte has one of them, without bias.
  return [...random.slice(0, characters)].map((byte) => alphabet[byte % 32]).join("");
}

async function hashOf(sub: string, code: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array((await sha256(`recovery code\n${sub}\n${code}`)).slice(0, hashBytes));
}

/**
 * **A secret that a page shows before anything is stored**: 32 bytes, a MAC over the page's purpose, its random id and the browser. Loading the page
 * again shows the same.
 */
export async function pageSecret(
  env: MasterKeyBindings,
  { id: browserId }: Pick<Browser, "id">,
  { purpose, id, of }: { readonly purpose: string; readonly id: string; readonly of: string },
): Promise<Uint8Array<ArrayBuffer>> {
  const parts = ["1", "2"].map((part) => macText(env, "cookie-mac", `${purpose}\n${part}\n${id}\n${browserId}\n${of}`));
  const joined = (await Promise.all(parts)).map((mac) => decodeBase64Url(mac)!);
  return new Uint8Array(joined.flatMap((bytes) => [...bytes]));
}
