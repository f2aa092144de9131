import { usageFailure } from "../console/failure.ts";
import { scryptText, unknownHash } from "./hash-text.ts";
import { readJson, sourceFiles } from "./source-files.ts";
import {
  addressClaims,
  compact,
  isObject,
  objectsOf,
  pictureOf,
  type ReaderOptions,
  type SourceUser,
  secondsOf,
  textOf,
} from "./source-user.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * **Users of better-auth**: a JSON object with its tables `user`, `account` and, if there are any, `passkey` and `twoFactor`, as lists of rows. Secrets of
 * apps are encrypted with the application's own secret there, and are left out.
 *
 * @see https://www.better-auth.com/docs/concepts/database
 */
export async function* readBetterAuthUsers(path: string, options: ReaderOptions): AsyncGenerator<SourceUser> {
  for (const file of sourceFiles(path)) {
    const tables = readJson(file);
    if (!isObject(tables)) throw usageFailure(`${file} must be an object with the tables user and account.`);
    const rowsOf = (table: string) => byUser(objectsOf(tables[table]));
    const [accounts, passkeys, secrets] = [rowsOf("account"), rowsOf("passkey"), rowsOf("twoFactor")];
    for (const user of objectsOf(tables["user"])) {
      const own = { accounts: accounts.get(user["id"]) ?? [], passkeys: passkeys.get(user["id"]) ?? [] };
      yield { line: toLine(user, own, options), leftOut: secrets.has(user["id"]) ? ["twoFactor"] : [] };
    }
  }
}

function byUser(rows: readonly Json[]): ReadonlyMap<unknown, readonly Json[]> {
  const found = new Map<unknown, Json[]>();
  for (const row of rows) found.set(row["userId"], [...(found.get(row["userId"]) ?? []), row]);
  return found;
}

function toLine(
  user: Json,
  { accounts, passkeys }: Readonly<Record<"accounts" | "passkeys", readonly Json[]>>,
  { upstreams }: ReaderOptions,
): Json {
  const password = accounts.find(({ providerId }) => providerId === "credential")?.["password"];
  return compact({
    sub: user["id"],
    username: textOf(user["username"]) ?? textOf(user["email"]) ?? user["id"],
    status: user["banned"] === true || user["banned"] === 1 ? "suspended" : "active",
    claims: compact({
      ...{ name: textOf(user["name"]), picture: pictureOf(user["image"]) },
      ...addressClaims(user["email"], user["emailVerified"]),
    }),
    password_hash: typeof password === "string" ? toHash(password) : undefined,
    passkeys: passkeys.map(toPasskey),
    identities: accounts
      .filter(({ providerId }) => providerId !== "credential")
      .map(({ providerId, accountId }) => ({
        ...{ upstream_id: upstreams.get(String(providerId)) ?? providerId, subject: String(accountId) },
      })),
    created_at: secondsOf(user["createdAt"]),
    updated_at: secondsOf(user["updatedAt"]),
  });
}

/** `salt:key` in hexadecimal, where the text of the salt is hashed; or a hash of another function that the application chose. */
function toHash(password: string): string {
  const [, salt, key] = /^([0-9a-f]{32}):([0-9a-f]{128})$/.exec(password) ?? [];
  if (salt === undefined || key === undefined) return password.startsWith("$") ? password : unknownHash("password");
  return scryptText({ N: 16384, r: 16, p: 1 }, { salt: Buffer.from(salt), key: Buffer.from(key, "hex") });
}

function toPasskey(passkey: Json): Json {
  const url = (value: unknown) => Buffer.from(String(value), "base64").toString("base64url");
  return compact({
    ...{ credential_id: url(passkey["credentialID"]), public_key: url(passkey["publicKey"]) },
    ...{ sign_count: passkey["counter"], backed_up: passkey["backedUp"] === true || passkey["backedUp"] === 1 },
    ...{ transports: textOf(passkey["transports"])?.split(","), name: textOf(passkey["name"]) },
    created_at: secondsOf(passkey["createdAt"]),
  });
}
