import {
  addressClaims,
  compact,
  idOf,
  type Json,
  nameClaims,
  objectOf,
  objectsOf,
  pictureOf,
  type ReadUser,
  secondsOf,
  textOf,
  type UserReader,
} from "./source-user.ts";

const suspended: readonly unknown[] = ["SUSPENDED", "LOCKED_OUT"];
const known = new Set([
  ...["login", "email", "firstName", "lastName", "middleName", "displayName", "nickName", "mobilePhone", "locale"],
  ...["timezone", "profileUrl", "preferredLanguage"],
]);

/**
 * **Users of Okta**: the list of `GET /api/v1/users`. Okta gives neither password hashes nor factors. An address is verified if Okta says so of it.
 *
 * @see https://developer.okta.com/docs/api/openapi/okta-management/management/tag/User/
 */
export const oktaReader: UserReader = {
  lists: ["users"],
  open: () => toUser,
};

function toUser(user: Json): ReadUser {
  const id = idOf(user["id"]);
  const profile = objectOf(user["profile"]);
  const login = textOf(profile["login"]);
  if (id === undefined || login === undefined) return { kind: "refused", reason: "has no id or no profile.login" };
  if (user["status"] === "DEPROVISIONED") return { kind: "leftOut", reason: "deactivated (DEPROVISIONED)" };
  const credentials = objectOf(user["credentials"]);
  const email = textOf(profile["email"]);
  const isVerified = objectsOf(credentials["emails"]).some(
    ({ value, status }) => textOf(value)?.toLowerCase() === email?.toLowerCase() && status === "VERIFIED",
  );
  const provider = objectOf(credentials["provider"])["type"];
  const line = compact({
    sub: id,
    username: login,
    status: suspended.includes(user["status"]) ? "suspended" : "active",
    claims: compact({
      ...nameClaims(profile["firstName"], profile["lastName"], profile["displayName"]),
      ...{ middle_name: textOf(profile["middleName"]), nickname: textOf(profile["nickName"]) },
      ...{ phone_number: textOf(profile["mobilePhone"]), zoneinfo: textOf(profile["timezone"]) },
      locale: (textOf(profile["preferredLanguage"]) ?? textOf(profile["locale"]))?.replace("_", "-"),
      profile: pictureOf(profile["profileUrl"]),
      ...addressClaims(email, isVerified),
    }),
    created_at: secondsOf(user["created"]),
    updated_at: secondsOf(user["lastUpdated"]),
  });
  const others = Object.keys(profile).filter((name) => !known.has(name) && profile[name] !== null);
  const leftOut = [
    ...others.map((name) => `attribute ${name}`),
    ...(provider === undefined || provider === "OKTA" ? [] : [`sign-in with ${String(textOf(provider))}`]),
  ];
  return { kind: "user", user: line, leftOut };
}
