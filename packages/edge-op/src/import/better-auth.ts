import { modularText, scryptText } from "./hash-text.ts";
import {
  addressClaims,
  compact,
  identityOf,
  idOf,
  isTrue,
  type Json,
  objectsOf,
  pictureOf,
  type ReaderOptions,
  type ReadUser,
  secondsOf,
  textOf,
  type UserReader,
} from "./source-user.ts";

/**
 * **Users of better-auth**: a JSON object with its tables `user`, `account` and, if there are any, `passkey` and `twoFactor`, as lists of rows.
 * Secrets of apps are encrypted with the application's own secret there, and are left out.
 *
 * @see https://www.better-auth.com/docs/concepts/database
 */
export const betterAuthReader: UserReader = {
  lists: ["user"],
  tables: ["account", "passkey", "twoFactor"],
  open(options, { rowsOf }) {
    const [accounts, passkeys, secrets] = [rowsOf("account"), rowsOf("passkey"), rowsOf("twoFactor")].map(byUser);
    return (user) => {
      const id = idOf(user["id"]);
      if (id === undefined) return { kind: "refused", reason: "has no id: a row of the table user is expected" };
      // A query with relations has the rows in that of the user.
      const rows = (table: string, beside: ReadonlyMap<string, readonly Json[]>) =>
        [table, `${table}s`].flatMap((member) => objectsOf(user[member])).concat(beside.get(id) ?? []);
      const own = { accounts: rows("account", accounts!), passkeys: rows("passkey", passkeys!) };
      return toUser(user, { id, ...own, isLocked: secrets!.has(id) }, options);
    };
  },
};

function byUser(rows: readonly Json[]): ReadonlyMap<string, readonly Json[]> {
  const found = new Map<string, Json[]>();
  for (const row of rows) {
    const id = idOf(row["userId"]);
    if (id === undefined) continue;
    const own = found.get(id);
    if (own === undefined) found.set(id, [row]);
    else own.push(row);
  }
  return found;
}

interface Own {
  readonly id: string;
  readonly accounts: readonly Json[];
  readonly passkeys: readonly Json[];
  readonly isLocked: boolean;
}

function toUser(user: Json, { id, accounts, passkeys, isLocked }: Own, options: ReaderOptions): ReadUser {
  const password = accounts.find(({ providerId }) => providerId === "credential")?.["password"];
  const line = compact({
    sub: id,
    username: textOf(user["username"]) ?? textOf(user["email"]) ?? id,
    status: isTrue(user["banned"]) ? "suspended" : "active",
    claims: compact({
      ...{ name: textOf(user["name"]), picture: pictureOf(user["image"]) },
      ...addressClaims(user["email"], user["emailVerified"]),
    }),
    password_hash: typeof password === "string" ? toHash(password) : undefined,
    passkeys: passkeys.map(toPasskey),
    identities: accounts
      .filter(({ providerId }) => providerId !== "credential")
      .map(({ providerId, accountId }) => identityOf(options, [providerId], accountId)),
    created_at: secondsOf(user["createdAt"]),
    updated_at: secondsOf(user["updatedAt"]),
  });
  return { kind: "user", user: line, leftOut: isLocked ? ["twoFactor"] : [] };
}

/** `salt:key` in hexadecimal, where the text of the salt is hashed; or a hash of another function that the application chose. */
function toHash(password: string): string {
  const [, salt, key] = /^([0-9a-f]{32}):([0-9a-f]{128})$/.exec(password) ?? [];
  if (salt === undefined || key === undefined) return modularText(password);
  return scryptText({ N: 16384, r: 16, p: 1 }, { salt: Buffer.from(salt), key: Buffer.from(key, "hex") });
}

function toPasskey(passkey: Json): Json {
  const url = (value: unknown) => Buffer.from(textOf(value) ?? "", "base64").toString("base64url");
  return compact({
    ...{ credential_id: url(passkey["credentialID"]), public_key: url(passkey["publicKey"]) },
    ...{ sign_count: passkey["counter"], backed_up: isTrue(passkey["backedUp"]) },
    ...{ transports: textOf(passkey["transports"])?.split(","), name: textOf(passkey["name"]) },
    created_at: secondsOf(passkey["createdAt"]),
  });
}
