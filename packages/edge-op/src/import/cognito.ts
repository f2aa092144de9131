import { createReadStream } from "node:fs";
import { parse } from "csv-parse";
import { sourceFiles } from "./source-files.ts";
import { addressClaims, compact, pictureOf, type ReaderOptions, type SourceUser, textOf } from "./source-user.ts";

type Row = Readonly<Record<string, string | undefined>>;

const claimColumns = [
  ...["name", "given_name", "family_name", "middle_name", "nickname", "preferred_username", "gender"],
  ...["birthdate", "zoneinfo", "locale", "phone_number"],
];
const knownColumns = new Set([
  ...[...claimColumns, "sub", "cognito:username", "cognito:mfa_enabled", "email", "email_verified"],
  ...["phone_number_verified", "picture", "profile", "website", "address", "updated_at"],
]);

/**
 * **Users of Cognito**: CSV with the columns of its import header, and `sub` if the file has it. Cognito exports neither password hashes nor secrets of
 * apps.
 *
 * @see https://docs.aws.amazon.com/cognito/latest/developerguide/cognito-user-pools-using-import-tool-csv-header.html
 */
export async function* readCognitoUsers(path: string, _: ReaderOptions): AsyncGenerator<SourceUser> {
  for (const file of sourceFiles(path)) {
    const rows = createReadStream(file).pipe(parse({ columns: true, bom: true, skip_empty_lines: true }));
    for await (const row of rows) yield toUser(row as Row);
  }
}

function toUser(row: Row): SourceUser {
  const name = textOf(row["cognito:username"]);
  const claims = Object.fromEntries(claimColumns.map((column) => [column, textOf(row[column])]));
  const address = textOf(row["address"]);
  const phoneVerified = textOf(row["phone_number_verified"]);
  const line = compact({
    sub: textOf(row["sub"]) ?? name,
    username: name ?? textOf(row["email"]),
    claims: compact({
      ...claims,
      ...{ picture: pictureOf(row["picture"]), profile: pictureOf(row["profile"]), website: pictureOf(row["website"]) },
      address: address === undefined ? undefined : { formatted: address },
      phone_number_verified: phoneVerified === undefined ? undefined : /^true$/i.test(phoneVerified),
      ...addressClaims(row["email"], row["email_verified"]),
    }),
  });
  const custom = Object.keys(row).filter((column) => !knownColumns.has(column) && textOf(row[column]) !== undefined);
  const hasMfa = /^true$/i.test(row["cognito:mfa_enabled"] ?? "");
  return { line, leftOut: [...(hasMfa ? ["MFA"] : []), ...custom.map((column) => `attribute ${column}`)] };
}
