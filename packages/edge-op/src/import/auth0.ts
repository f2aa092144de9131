import { scryptText, unknownHash } from "./hash-text.ts";
import { readJsonLines } from "./source-files.ts";
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
 * **Users of Auth0**: the lines of a user export, with `custom_password_hash` as an import file of Auth0 has it. Hashes that Auth0 made come in a file of
 * their own, by request to its support: `beside`. Metadata and MFA enrolments are left out.
 *
 * @see https://auth0.com/docs/manage-users/user-migration/bulk-user-exports
 * @see https://auth0.com/docs/manage-users/user-migration/bulk-user-import-database-schema-and-examples
 */
export async function* readAuth0Users(path: string, options: ReaderOptions): AsyncGenerator<SourceUser> {
  const hashes = options.beside === undefined ? new Map<string, string>() : await readHashes(options.beside);
  for await (const user of readJsonLines(path)) {
    if (isObject(user)) yield toUser(user, hashes, options);
    else yield { line: { sub: user }, leftOut: [] };
  }
}

/** By `user_id`. About 150 bytes of memory each. */
async function readHashes(path: string): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for await (const row of readJsonLines(path)) {
    if (!isObject(row) || typeof row["passwordHash"] !== "string") continue;
    const id = isObject(row["_id"]) ? row["_id"]["$oid"] : (row["_id"] ?? row["user_id"]);
    hashes.set(`auth0|${String(id).replace(/^auth0\|/, "")}`, row["passwordHash"]);
  }
  return hashes;
}

function toUser(user: Json, hashes: ReadonlyMap<string, string>, { upstreams }: ReaderOptions): SourceUser {
  const id = textOf(user["user_id"]) ?? textOf(user["Id"]) ?? "";
  const sub = id === "" || id.includes("|") ? id : `auth0|${id}`;
  const identities = objectsOf(user["identities"]).filter(({ provider }) => provider !== "auth0");
  const claim = (name: string) => textOf(user[name]);
  const line = compact({
    sub,
    username: claim("username") ?? claim("email") ?? sub,
    status: user["blocked"] === true ? "suspended" : "active",
    claims: compact({
      ...{ name: claim("name"), given_name: claim("given_name"), family_name: claim("family_name") },
      ...{ nickname: claim("nickname"), picture: pictureOf(user["picture"]), phone_number: claim("phone_number") },
      ...(typeof user["phone_verified"] === "boolean" ? { phone_number_verified: user["phone_verified"] } : {}),
      ...addressClaims(user["email"], user["email_verified"]),
    }),
    password_hash:
      claim("password_hash") ?? claim("passwordHash") ?? customHash(user["custom_password_hash"]) ?? hashes.get(sub),
    identities: identities.map(({ provider, connection, user_id: subject }) => {
      const name = upstreams.get(String(connection)) ?? upstreams.get(String(provider)) ?? String(provider);
      return { upstream_id: name, subject: String(subject) };
    }),
    created_at: secondsOf(user["created_at"]),
    updated_at: secondsOf(user["updated_at"]),
  });
  const left = ["app_metadata", "user_metadata", "multifactor", "mfa_factors"].filter((member) => {
    const value = user[member];
    return Array.isArray(value) ? value.length > 0 : isObject(value) && Object.keys(value).length > 0;
  });
  return { line, leftOut: left };
}

function customHash(custom: unknown): string | undefined {
  if (!isObject(custom)) return undefined;
  const { algorithm, hash, salt } = custom;
  const value = isObject(hash) ? String(hash["value"]) : "";
  if (algorithm === "bcrypt" || algorithm === "argon2" || algorithm === "pbkdf2") return value;
  if (algorithm !== "scrypt" || !isObject(hash) || !isObject(salt)) return unknownHash(algorithm);
  const bytes = (part: Json) =>
    Buffer.from(String(part["value"]), String(part["encoding"] ?? "utf8") as BufferEncoding);
  const cost = {
    N: Number(custom["cost"] ?? 16384),
    r: Number(custom["blockSize"] ?? 8),
    p: Number(custom["parallelization"] ?? 1),
  };
  return scryptText(cost, { salt: bytes(salt), key: bytes(hash) });
}
