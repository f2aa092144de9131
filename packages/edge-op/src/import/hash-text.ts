/** **Hashes of other products in PHC form**, as `POST /admin/import/users` reads them. What has no such form is named, and refused there. */

function base64(value: string | Uint8Array, encoding: BufferEncoding = "base64"): string {
  const bytes = typeof value === "string" ? Buffer.from(value, encoding) : Buffer.from(value);
  return bytes.toString("base64").replaceAll("=", "");
}

interface Encoded {
  readonly salt: string | Uint8Array;
  readonly key: string | Uint8Array;
  /** The encoding of salt and hash; by default base64 in either alphabet. */
  readonly encoding?: BufferEncoding;
}

export function pbkdf2Text(digest: string, iterations: unknown, { salt, key, encoding }: Encoded): string {
  return `$pbkdf2-${digest}$i=${String(iterations)}$${base64(salt, encoding)}$${base64(key, encoding)}`;
}

export function argon2Text(parameters: Readonly<Record<"m" | "t" | "p", unknown>>, { salt, key }: Encoded): string {
  const { m, t, p } = parameters;
  return `$argon2id$v=19$m=${String(m)},t=${String(t)},p=${String(p)}$${base64(salt)}$${base64(key)}`;
}

export function scryptText(cost: Readonly<Record<"N" | "r" | "p", number>>, { salt, key, encoding }: Encoded): string {
  return `$scrypt$ln=${Math.log2(cost.N)},r=${cost.r},p=${cost.p}$${base64(salt, encoding)}$${base64(key, encoding)}`;
}

/** Firebase's scrypt: `salt` has the project's separator at its end. */
export function firebaseText(
  { memCost, rounds, signerKey }: { readonly memCost: number; readonly rounds: number; readonly signerKey: string },
  { salt, key }: Encoded,
): string {
  return `$firebase-scrypt$ln=${memCost},r=${rounds}$${base64(salt)}$${base64(key)}$${base64(signerKey)}`;
}

/** Refused with its name. */
export function unknownHash(name: unknown): string {
  return `unsupported: ${String(name)}`;
}
