import { modularText } from "./hash-text.ts";
import {
  addressClaims,
  appOfUrl,
  compact,
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

const suspended: readonly unknown[] = ["USER_STATE_INACTIVE", "USER_STATE_LOCKED"];

/**
 * **Users of ZITADEL**: the `result` of `POST /v2/users` or of the management API, or the organizations of `POST /admin/v1/export`, which has
 * password hashes. Users that are machines are left out: register a client.
 *
 * @see https://zitadel.com/docs/apis/resources/user_service_v2/user-service-list-users
 * @see https://zitadel.com/docs/guides/migrate/sources/zitadel
 */
export const zitadelReader: UserReader = {
  lists: ["result", "orgs", "humanUsers"],
  // An organization without users.
  isContainer: (record) => record["orgId"] !== undefined && record["user"] === undefined,
  open: (options) => (record) => toUser(record, options),
};

function toUser(record: Json, options: ReaderOptions): ReadUser {
  // An exported user has a member `user`; a listed one has `human` or `machine`.
  const exported = objectOf(record["user"]);
  const human = record["user"] === undefined ? objectOf(record["human"]) : exported;
  const id = idOf(record["userId"]) ?? idOf(record["id"]);
  const username = textOf(record["username"]) ?? textOf(record["userName"]) ?? textOf(exported["userName"]);
  if (id === undefined || username === undefined) return { kind: "refused", reason: "has no userId or no username" };
  if (record["machine"] !== undefined) return { kind: "leftOut", reason: "machine user: register a client" };
  if (record["state"] === "USER_STATE_DELETED") return { kind: "leftOut", reason: "deleted" };
  const profile = objectOf(human["profile"]);
  const [email, phone] = [objectOf(human["email"]), objectOf(human["phone"])];
  const hash = textOf(objectOf(human["hashedPassword"])["value"] ?? objectOf(human["hashedPassword"])["hash"]);
  const app = textOf(human["otpCode"]);
  const totp = app === undefined ? undefined : (appOfUrl(app) ?? { secret: app });
  const details = objectOf(record["details"]);
  const line = compact({
    sub: id,
    username,
    status: suspended.includes(record["state"]) ? "suspended" : "active",
    claims: compact({
      ...nameClaims(
        profile["givenName"] ?? profile["firstName"],
        profile["familyName"] ?? profile["lastName"],
        profile["displayName"],
      ),
      ...{ nickname: textOf(profile["nickName"]), picture: pictureOf(profile["avatarUrl"]) },
      locale: profile["preferredLanguage"] === "und" ? undefined : textOf(profile["preferredLanguage"]),
      ...addressClaims(email["email"], isTrue(email["isVerified"] ?? email["isEmailVerified"])),
      ...phoneClaims(phone["phone"], isTrue(phone["isVerified"] ?? phone["isPhoneVerified"])),
    }),
    password_hash: hash === undefined ? undefined : modularText(hash),
    totp: totp === undefined ? [] : [totp],
    identities: objectsOf(human["idps"] ?? human["idpLinks"]).map((link) =>
      identityOf(
        options,
        [link["configId"] ?? link["idpId"]],
        link["externalUserId"] ?? link["userId"],
        link["displayName"],
      ),
    ),
    created_at: secondsOf(details["creationDate"]),
    updated_at: secondsOf(details["changeDate"]),
  });
  return {
    kind: "user",
    user: line,
    leftOut: hash === undefined && human["passwordChanged"] !== undefined ? ["password"] : [],
  };
}
