import { modularText } from "./hash-text.ts";
import {
  addressClaims,
  compact,
  hasContent,
  identityOf,
  idOf,
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
} from "./source-user.ts";

/**
 * **Users of Supabase**: the rows of `auth.users` as CSV or JSON, with those of `auth.identities` as the member `identities`, or as a list beside
 * them: `{"users": […], "identities": […]}`. Secrets of authenticator apps are in `auth.mfa_factors`, and are left out.
 *
 * @see https://supabase.com/docs/guides/auth/users
 * @see https://supabase.com/docs/guides/auth/identities
 */
export const supabaseReader: UserReader = {
  lists: ["users"],
  tables: ["identities"],
  csv: { required: [["id"]] },
  open(options, { rowsOf }) {
    const identities = new Map<string, Json[]>();
    for (const row of rowsOf("identities")) {
      const id = idOf(row["user_id"]) ?? "";
      identities.set(id, [...(identities.get(id) ?? []), row]);
    }
    return (user) => {
      const id = idOf(user["id"]);
      if (id === undefined) return { kind: "refused", reason: "has no id: a row of auth.users is expected" };
      const own = parsedText(user["identities"]);
      return toUser(user, [...objectsOf(own), ...(identities.get(id) ?? [])], options);
    };
  },
};

function toUser(user: Json, identities: readonly Json[], options: ReaderOptions): ReadUser {
  const id = idOf(user["id"]);
  const [email, phone] = [textOf(user["email"]), textOf(user["phone"])];
  if (hasContent(user["deleted_at"])) return { kind: "leftOut", reason: "deleted" };
  if (isTrue(user["is_anonymous"])) return { kind: "leftOut", reason: "anonymous account" };
  const metadata = objectOf(parsedText(user["raw_user_meta_data"] ?? user["user_metadata"]));
  const hash = textOf(user["encrypted_password"]);
  const line = compact({
    sub: id,
    username: email ?? id,
    status: isBanned(user["banned_until"]) ? "suspended" : "active",
    claims: compact({
      ...nameClaims(metadata["given_name"], metadata["family_name"], metadata["full_name"] ?? metadata["name"]),
      picture: pictureOf(metadata["avatar_url"] ?? metadata["picture"]),
      ...addressClaims(email, hasContent(user["email_confirmed_at"])),
      // It is stored without its plus sign.
      ...phoneClaims(phone?.replace(/^(?=\d)/, "+"), hasContent(user["phone_confirmed_at"])),
    }),
    password_hash: hash === undefined ? undefined : modularText(hash),
    identities: identities
      .filter(({ provider }) => provider !== "email" && provider !== "phone")
      .map(({ provider, provider_id: subject, identity_data: data }) => {
        const known = objectOf(parsedText(data));
        return identityOf(options, [provider], subject ?? known["sub"], known["email"]);
      }),
    created_at: secondsOf(user["created_at"]),
    updated_at: secondsOf(user["updated_at"]),
  });
  const names = ["full_name", "name", "given_name", "family_name", "avatar_url", "email", "email_verified"];
  const own = new Set([...names, "phone_verified", "sub", "picture", "iss", "provider_id"]);
  const leftOut = [
    ...Object.keys(metadata)
      .filter((name) => !own.has(name))
      .map((name) => `metadata ${name}`),
    ...(hasContent(user["factors"]) ? ["MFA"] : []),
    ...(phone !== undefined && email === undefined ? ["sign-in by telephone"] : []),
  ];
  return { kind: "user", user: line, leftOut };
}

/** A ban for ever ends in a hundred years, or at no time that can be read. */
function isBanned(until: unknown): boolean {
  if (!hasContent(until)) return false;
  const endsMs = typeof until === "string" ? Date.parse(until) : Number.NaN;
  return Number.isNaN(endsMs) || endsMs > Date.now();
}
