import { modularText, pbkdf2Text, unknownHash } from "./hash-text.ts";
import {
  addressClaims,
  appOfUrl,
  compact,
  hasContent,
  identityOf,
  idOf,
  isTrue,
  type Json,
  nameClaims,
  objectOf,
  objectsOf,
  phoneClaims,
  pictureOf,
  type ReaderOptions,
  type ReadUser,
  secondsOf,
  textOf,
  type UserReader,
} from "./source-user.ts";

/**
 * **Users of Clerk**: the CSV of the dashboard's export, which has password digests and secrets of authenticator apps; or the JSON of
 * `GET /v1/users`, which has the connected accounts and neither.
 *
 * @see https://clerk.com/docs/guides/development/migrating/export-from-clerk
 * @see https://clerk.com/docs/reference/backend-api/tag/users/get/users
 */
export const clerkReader: UserReader = {
  lists: ["data"],
  csv: { required: [["id"]] },
  open: (options) => (record) => (Array.isArray(record["email_addresses"]) ? ofApi(record, options) : ofExport(record)),
};

function ofExport(user: Json): ReadUser {
  const id = idOf(user["id"]);
  if (id === undefined) return { kind: "refused", reason: "has no id" };
  const [email, phone] = [textOf(user["primary_email_address"]), textOf(user["primary_phone_number"])];
  const listed = (column: string, value: string | undefined) =>
    value !== undefined && (textOf(user[column]) ?? "").split(/[|,; ]+/).includes(value);
  const line = compact({
    ...common(user, id, email),
    claims: compact({
      ...nameClaims(user["first_name"], user["last_name"]),
      ...addressClaims(email, listed("verified_email_addresses", email)),
      ...phoneClaims(phone, listed("verified_phone_numbers", phone)),
    }),
    password_hash: toHash(user),
    totp: appsOf(textOf(user["totp_secret"])),
  });
  return {
    kind: "user",
    user: line,
    leftOut: othersOf([...split(user, "verified"), ...split(user, "unverified")], email),
  };
}

function split(user: Json, kind: string): readonly string[] {
  return (textOf(user[`${kind}_email_addresses`]) ?? "").split(/[|,; ]+/).filter((address) => address !== "");
}

function othersOf(addresses: readonly string[], email: string | undefined): readonly string[] {
  return addresses.some((address) => address !== email) ? ["further addresses"] : [];
}

function ofApi(user: Json, options: ReaderOptions): ReadUser {
  const id = idOf(user["id"]);
  if (id === undefined) return { kind: "refused", reason: "has no id" };
  const primary = (list: string, pointer: string) =>
    objectOf(objectsOf(user[list]).find((each) => each["id"] === user[pointer]) ?? objectsOf(user[list])[0]);
  const address = primary("email_addresses", "primary_email_address_id");
  const phone = primary("phone_numbers", "primary_phone_number_id");
  const isVerified = (each: Json) => objectOf(each["verification"])["status"] === "verified";
  const email = textOf(address["email_address"]);
  const line = compact({
    ...common(user, id, email),
    claims: compact({
      ...nameClaims(user["first_name"], user["last_name"]),
      picture: pictureOf(user["image_url"]),
      ...addressClaims(email, isVerified(address)),
      ...phoneClaims(phone["phone_number"], isVerified(phone)),
    }),
    password_hash: toHash(user),
    identities: objectsOf(user["external_accounts"]).map(
      ({ provider, provider_user_id: subject, email_address: label }) =>
        identityOf(options, [provider, textOf(provider)?.replace(/^oauth_/, "")], subject, label),
    ),
  });
  const leftOut = [
    ...othersOf(
      objectsOf(user["email_addresses"]).flatMap((each) => textOf(each["email_address"]) ?? []),
      email,
    ),
    ...["public_metadata", "private_metadata", "unsafe_metadata", "passkeys"].filter((name) => hasContent(user[name])),
    ...(isTrue(user["password_enabled"]) && toHash(user) === undefined ? ["password"] : []),
    ...(isTrue(user["two_factor_enabled"]) ? ["MFA"] : []),
  ];
  return { kind: "user", user: line, leftOut };
}

function common(user: Json, id: string, email: string | undefined): Json {
  return {
    sub: id,
    username: textOf(user["username"]) ?? email ?? id,
    status: isTrue(user["banned"]) || isTrue(user["locked"]) ? "suspended" : "active",
    ...{ created_at: secondsOf(user["created_at"]), updated_at: secondsOf(user["updated_at"]) },
  };
}

function toHash(user: Json): string | undefined {
  const digest = textOf(user["password_digest"]);
  if (digest === undefined) return undefined;
  const hasher = textOf(user["password_hasher"]);
  const [, iterations, salt = "", key = ""] = /^pbkdf2_sha(?:1|256)\$(\d+)\$([^$]+)\$([^$]+)$/.exec(digest) ?? [];
  // Unlike Django's, whose salt is text: base64, and with SHA-1 a key in hexadecimal.
  if (hasher === "pbkdf2_sha256") return pbkdf2Text("sha256", iterations, { salt, key });
  if (hasher === "pbkdf2_sha1") {
    return pbkdf2Text("sha1", iterations, { salt: Buffer.from(salt), key: Buffer.from(key, "hex") });
  }
  const text = modularText(digest);
  return text.startsWith("$") || hasher === undefined ? text : unknownHash(hasher);
}

/** The secret alone, or the URL of its QR code. */
function appsOf(secret: string | undefined): readonly Json[] {
  const app = secret === undefined || !secret.includes(":") ? { secret } : appOfUrl(secret);
  return app?.["secret"] === undefined ? [] : [app];
}
