import { modularText } from "./hash-text.ts";
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
  parsedText,
  phoneClaims,
  pictureOf,
  type ReaderOptions,
  type ReadUser,
  secondsOf,
  textOf,
  type UserReader,
} from "./source-user.ts";

const nameTraits = ["email", "username", "name", "first_name", "last_name", "phone", "picture"];

/**
 * **Identities of Ory Kratos**: the list of `GET /admin/identities`, or identities in the form of its import. The API shows no password hashes; a
 * query of `identity_credentials` has them as `credentials.password.config.hashed_password`, and secrets of authenticator apps as
 * `credentials.totp.config.totp_url`.
 *
 * @see https://www.ory.com/docs/kratos/manage-identities/import-user-accounts-identities
 */
export const kratosReader: UserReader = {
  lists: ["identities"],
  open: (options) => (identity) => toUser(identity, options),
};

function toUser(identity: Json, options: ReaderOptions): ReadUser {
  const id = idOf(identity["id"]);
  if (id === undefined) return { kind: "refused", reason: "has no id" };
  const traits = objectOf(parsedText(identity["traits"]));
  const credentials = objectOf(parsedText(identity["credentials"]));
  const config = (type: string) => objectOf(parsedText(objectOf(credentials[type])["config"]));
  const addresses = objectsOf(parsedText(identity["verifiable_addresses"]));
  const email = textOf(traits["email"]) ?? textOf(addresses.find(({ via }) => via === "email")?.["value"]);
  const phone = textOf(traits["phone"]);
  const isVerified = (value: unknown) => addresses.some((each) => each["value"] === value && isTrue(each["verified"]));
  const name = objectOf(traits["name"]);
  const password = objectOf(credentials["password"]);
  const hash = textOf(config("password")["hashed_password"]);
  const app = appOfUrl(config("totp")["totp_url"]);
  const line = compact({
    sub: id,
    username: textOf(traits["username"]) ?? email ?? firstOf(password["identifiers"]) ?? id,
    status: identity["state"] === "inactive" ? "suspended" : "active",
    claims: compact({
      ...nameClaims(name["first"] ?? traits["first_name"], name["last"] ?? traits["last_name"], traits["name"]),
      picture: pictureOf(traits["picture"]),
      ...addressClaims(email, isVerified(email)),
      ...phoneClaims(phone, isVerified(phone)),
    }),
    password_hash: hash === undefined ? undefined : modularText(hash),
    totp: app === undefined ? [] : [app],
    identities: connectionsOf(objectOf(credentials["oidc"]), config("oidc")).map(([provider, subject]) =>
      identityOf(options, [provider], subject),
    ),
    created_at: secondsOf(identity["created_at"]),
    updated_at: secondsOf(identity["updated_at"]),
  });
  const leftOut = [
    ...["webauthn", "passkey", "lookup_secret", "code", "saml"].filter((type) => hasContent(credentials[type])),
    ...(app === undefined && hasContent(credentials["totp"]) ? ["totp"] : []),
    ...Object.keys(traits)
      .filter((trait) => !nameTraits.includes(trait))
      .map((trait) => `trait ${trait}`),
    ...(hasContent(config("password")["password"]) ? ["password, which is no hash"] : []),
    ...["metadata_public", "metadata_admin", "external_id"].filter((member) => hasContent(identity[member])),
  ];
  return { kind: "user", user: line, leftOut };
}

function firstOf(value: unknown): string | undefined {
  return Array.isArray(value) ? textOf(value[0]) : undefined;
}

/** Without `include_credential`, the identifiers say them: `google:2342`. */
function connectionsOf(oidc: Json, { providers }: Json): readonly (readonly [provider: unknown, subject: unknown])[] {
  if (Array.isArray(providers)) return objectsOf(providers).map(({ provider, subject }) => [provider, subject]);
  const identifiers = Array.isArray(oidc["identifiers"]) ? oidc["identifiers"] : [];
  return identifiers.flatMap((each) => {
    const [, provider, subject] = /^([^:]+):(.+)$/.exec(textOf(each) ?? "") ?? [];
    return provider === undefined ? [] : [[provider, subject] as const];
  });
}
