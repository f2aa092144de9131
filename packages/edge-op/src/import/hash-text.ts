/** **Hashes of other products in PHC form**, as `POST /admin/import/users` reads them. What has no such form is named, and refused. */

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

const unsupported = "unsupported: ";

/** Refused with its name. */
export function unknownHash(name: string): string {
  return `${unsupported}${name}`;
}

/** Why a hash cannot be used, if a reader knows. */
export function hashFault(hash: unknown): string | undefined {
  return typeof hash === "string" && hash.startsWith(unsupported) ? hash : undefined;
}

/**
 * A hash whose text names its function, in the spellings of other products: PHC, passlib (`$pbkdf2-sha256$29000$…`, with `.` for `+`), Django
 * (`pbkdf2_sha256$600000$…`, whose salt is text), Ory (`l=32`, and N for `ln`) and Supabase (`$fbscrypt$`).
 */
export function modularText(text: string): string {
  if (/^\$(2[aby]|argon2id|firebase-scrypt)\$/.test(text)) return text;
  const django = /^pbkdf2_(sha1|sha256|sha512)\$(\d+)\$([^$]*)\$([^$]+)$/.exec(text);
  if (django !== null) {
    const [, digest = "", iterations, salt = "", key = ""] = django;
    return pbkdf2Text(digest, iterations, { salt: Buffer.from(salt), key });
  }
  const pbkdf2 = /^\$pbkdf2(?:-(sha1|sha256|sha512))?\$(?:i=)?(\d+)(?:,l=\d+)?\$([^$]+)\$([^$]+)$/.exec(text);
  if (pbkdf2 !== null) {
    const [, digest = "sha1", iterations, salt = "", key = ""] = pbkdf2;
    return pbkdf2Text(digest, iterations, { salt: salt.replaceAll(".", "+"), key: key.replaceAll(".", "+") });
  }
  const scrypt = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(text);
  if (scrypt !== null) {
    const [, ln, r, p, salt = "", key = ""] = scrypt;
    const N = Number(ln) > 63 ? Number(ln) : 2 ** Number(ln);
    return scryptText({ N, r: Number(r), p: Number(p) }, { salt, key });
  }
  const firebase = /^\$fbscrypt\$v=1,n=(\d+),r=(\d+),p=1,ss=([^,$]*),sk=([^,$]+)\$([^$]+)\$([^$]+)$/.exec(text);
  if (firebase !== null) {
    const [, memCost, rounds, separator = "", signerKey = "", salt = "", key = ""] = firebase;
    const whole = Buffer.concat([salt, separator].map((part) => Buffer.from(part, "base64")));
    return firebaseText({ memCost: Number(memCost), rounds: Number(rounds), signerKey }, { salt: whole, key });
  }
  // The name of the function; never a part of the hash.
  const name = /^\$?([A-Za-z][\w-]{0,20})[$:]/.exec(text)?.[1];
  return unknownHash(name ?? "its form is not known");
}
