import { modularText, scryptText, unknownHash } from "./hash-text.ts";
import { readRecords } from "./read-records.ts";
import {
  addressClaims,
  type Beside,
  compact,
  hasContent,
  identityOf,
  isObject,
  isTrue,
  type Json,
  nameClaims,
  objectOf,
  objectsOf,
  parsedText,
  phoneClaims,
  pictureOf,
  type ReaderOptions,
  type ReadUser,
  secondsOf,
  textOf,
  type UserReader,
  wordOf,
} from "./source-user.ts";

/**
 * **Users of Auth0**: a user export in lines, as a list or as CSV, with the names of members or those that the dashboard's extension gives
 * (`Email Verified`); `custom_password_hash` as an import file of Auth0 has it. Hashes that Auth0 made come in a file of their own, by request to its
 * support: `beside`.
 *
 * @see https://auth0.com/docs/manage-users/user-migration/bulk-user-exports
 * @see https://auth0.com/docs/manage-users/user-migration/bulk-user-import-database-schema-and-examples
 */
export const auth0Reader: UserReader = {
  lists: ["users"],
  csv: { required: [["user_id", "Id", "id"]] },
  async open(options, beside) {
    const hashes = options.beside === undefined ? new Map<string, string>() : await readHashes(options.beside, beside);
    return (record) => toUser(withMembers(record), hashes, options);
  },
};

/** By `user_id`. About 150 bytes of memory each. */
async function readHashes(path: string, beside: Beside): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for await (const { file, line, value: row, fault } of readRecords(path, { lists: [] })) {
    const hash = isObject(row) ? textOf(row["passwordHash"]) : undefined;
    if (fault !== undefined || !isObject(row)) beside.report({ file, line, fault: fault ?? "must be an object" });
    if (hash === undefined || !isObject(row)) continue;
    const id = isObject(row["_id"]) ? row["_id"]["$oid"] : (row["_id"] ?? row["user_id"]);
    hashes.set(`auth0|${wordOf(id).replace(/^auth0\|/, "")}`, hash);
  }
  return hashes;
}

/** The name of a column is that of its member, with capitals and spaces. */
function withMembers(record: Json): Json {
  const named = Object.entries(record).map(
    ([name, value]) => [name.toLowerCase().replaceAll(" ", "_"), value] as const,
  );
  const { id, ...members } = Object.fromEntries(named);
  return { user_id: id, ...compact(members) };
}

function toUser(user: Json, hashes: ReadonlyMap<string, string>, options: ReaderOptions): ReadUser {
  const id = textOf(user["user_id"]);
  if (id === undefined) return { kind: "refused", reason: "has no user_id" };
  const sub = id.includes("|") ? id : `auth0|${id}`;
  const claim = (name: string) => textOf(user[name]);
  const hash = claim("password_hash") ?? claim("passwordhash") ?? hashes.get(sub);
  const line = compact({
    sub,
    username: claim("username") ?? claim("email") ?? sub,
    status: isTrue(user["blocked"]) ? "suspended" : "active",
    claims: compact({
      ...nameClaims(user["given_name"], user["family_name"], user["name"] ?? ""),
      ...{ nickname: claim("nickname"), picture: pictureOf(user["picture"]) },
      ...phoneClaims(user["phone_number"], user["phone_verified"]),
      ...addressClaims(user["email"], user["email_verified"]),
    }),
    password_hash: hash === undefined ? customHash(user["custom_password_hash"]) : modularText(hash),
    identities: identitiesOf(user, sub, options),
    created_at: secondsOf(user["created_at"]),
    updated_at: secondsOf(user["updated_at"]),
  });
  const left = ["app_metadata", "user_metadata", "multifactor", "mfa_factors"];
  return { kind: "user", user: line, leftOut: left.filter((member) => hasContent(user[member])) };
}

function identitiesOf(user: Json, sub: string, options: ReaderOptions): readonly Json[] {
  const identities = objectsOf(parsedText(user["identities"]));
  if (identities.length > 0) {
    return identities
      .filter(({ provider }) => provider !== "auth0")
      .map(({ provider, connection, user_id: subject }) =>
        identityOf(options, options.upstreams.has(wordOf(connection)) ? [connection] : [provider], subject),
      );
  }
  // An export without this member: the id has the provider and the subject of the first.
  const at = sub.indexOf("|");
  const provider = sub.slice(0, at);
  return provider === "auth0" ? [] : [identityOf(options, [provider, user["connection"]], sub.slice(at + 1))];
}

const encodings: readonly unknown[] = ["hex", "base64", "utf8"];

function customHash(custom: unknown): string | undefined {
  if (!hasContent(custom)) return undefined;
  const { algorithm, hash, salt, ...cost } = objectOf(parsedText(custom));
  const value = textOf(objectOf(hash)["value"]) ?? "";
  if (algorithm === "bcrypt" || algorithm === "argon2" || algorithm === "pbkdf2") return modularText(value);
  if (algorithm !== "scrypt" || !isObject(hash) || !isObject(salt)) return unknownHash(wordOf(algorithm));
  const bytes = ({ value: text, encoding = "utf8" }: Json) =>
    encodings.includes(encoding) ? Buffer.from(textOf(text) ?? "", encoding as BufferEncoding) : undefined;
  const [saltBytes, key] = [bytes(salt), bytes(hash)];
  if (saltBytes === undefined || key === undefined) return unknownHash("scrypt in another encoding");
  const number = (name: string, by: number) => Number(wordOf(cost[name] ?? by));
  const parameters = { N: number("cost", 16384), r: number("blockSize", 8), p: number("parallelization", 1) };
  return scryptText(parameters, { salt: saltBytes, key });
}
