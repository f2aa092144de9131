import {
  addressClaims,
  compact,
  isObject,
  isTrue,
  type Json,
  objectsOf,
  pictureOf,
  type ReadUser,
  secondsOf,
  textOf,
  type UserReader,
} from "./source-user.ts";

const claimColumns = [
  ...["name", "given_name", "family_name", "middle_name", "nickname", "preferred_username", "gender"],
  ...["birthdate", "zoneinfo", "locale", "phone_number"],
];
const knownColumns = new Set([
  ...[...claimColumns, "sub", "cognito:username", "cognito:mfa_enabled", "email", "email_verified"],
  ...["phone_number_verified", "picture", "profile", "website", "address", "updated_at", "identities"],
]);

/**
 * **Users of Cognito**: CSV with the columns of its import header, and `sub` if the file has it; or the JSON of `aws cognito-idp list-users`. Cognito
 * exports neither password hashes nor secrets of apps.
 *
 * @see https://docs.aws.amazon.com/cognito/latest/developerguide/cognito-user-pools-using-import-tool-csv-header.html
 * @see https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_ListUsers.html
 */
export const cognitoReader: UserReader = {
  lists: ["Users"],
  csv: { required: [["cognito:username", "email", "sub"]] },
  open: () => (record) => {
    if (!Array.isArray(record["Attributes"])) return toUser(record, {});
    const attributes = objectsOf(record["Attributes"]).map(({ Name, Value }) => [String(Name), Value] as const);
    const row = { "cognito:username": record["Username"], ...Object.fromEntries(attributes) };
    return toUser(row, {
      status: record["Enabled"] === false ? "suspended" : "active",
      ...{ created_at: secondsOf(record["UserCreateDate"]), updated_at: secondsOf(record["UserLastModifiedDate"]) },
    });
  },
};

function toUser(row: Json, own: Json): ReadUser {
  const name = textOf(row["cognito:username"]);
  const username = name ?? textOf(row["email"]);
  if (username === undefined) return { kind: "refused", reason: "has neither cognito:username nor email" };
  const claims = Object.fromEntries(claimColumns.map((column) => [column, textOf(row[column])]));
  const address = textOf(row["address"]);
  const phoneVerified = textOf(row["phone_number_verified"]);
  const line = compact({
    sub: textOf(row["sub"]) ?? username,
    username,
    ...own,
    claims: compact({
      ...claims,
      ...{ picture: pictureOf(row["picture"]), profile: pictureOf(row["profile"]), website: pictureOf(row["website"]) },
      address: address === undefined ? undefined : { formatted: address },
      phone_number_verified: phoneVerified === undefined ? undefined : isTrue(phoneVerified),
      ...addressClaims(row["email"], row["email_verified"]),
    }),
  });
  const custom = Object.keys(row).filter((column) => !knownColumns.has(column) && hasValue(row[column]));
  const left = [
    ...(isTrue(row["cognito:mfa_enabled"]) ? ["MFA"] : []),
    ...(textOf(row["identities"]) === undefined ? [] : ["identities"]),
    ...custom.map((column) => `attribute ${column}`),
  ];
  return { kind: "user", user: line, leftOut: left };
}

function hasValue(value: unknown): boolean {
  return textOf(value) !== undefined || isObject(value) || Array.isArray(value);
}
