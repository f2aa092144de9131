import { usageFailure } from "../console/failure.ts";
import { readText } from "../console/read-document.ts";
import { firebaseText, unknownHash } from "./hash-text.ts";
import { readRecords } from "./read-records.ts";
import {
  addressClaims,
  compact,
  hasContent,
  identityOf,
  idOf,
  isObject,
  isTrue,
  type Json,
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

const providers = [
  { name: "Google", id: "google.com" },
  { name: "Facebook", id: "facebook.com" },
  { name: "Twitter", id: "twitter.com" },
  { name: "GitHub", id: "github.com" },
];
/** The columns of `firebase auth:export users.csv`, which has no header. */
const columns = [
  ...["localId", "email", "emailVerified", "passwordHash", "salt", "displayName", "photoUrl"],
  ...providers.flatMap(({ name }) => [`${name} ID`, `${name} email`, `${name} name`, `${name} photo`]),
  ...["createdAt", "lastSignedInAt", "phoneNumber"],
];

/**
 * **Users of Firebase Authentication**: `firebase auth:export` as JSON or CSV, or a list of `listUsers` of the Admin SDK; and in `beside` the
 * password hash parameters of the project as the console shows them. Anonymous accounts are left out: nobody can sign in to them elsewhere.
 *
 * @see https://firebase.google.com/docs/cli/auth
 * @see https://firebase.google.com/docs/auth/admin/manage-users#list_all_users
 */
export const firebaseReader: UserReader = {
  lists: ["users"],
  csv: { required: [], columns },
  async open(options, { path }) {
    const config = options.beside === undefined ? undefined : readHashConfig(options.beside);
    if (config === undefined && !options.withoutUnusableHashes) await requireNoHash(path);
    return (record) => toUser(toMembers(record), config, options);
  },
};

async function requireNoHash(path: string): Promise<void> {
  for await (const { value } of readRecords(path, firebaseReader)) {
    if (!isObject(value) || textOf(value["passwordHash"]) === undefined) continue;
    throw usageFailure("The file has password hashes: --beside names a file with the hash parameters of the project.");
  }
}

interface HashConfig {
  readonly signerKey: string;
  readonly separator: string;
  readonly rounds: number;
  readonly memCost: number;
}

function readHashConfig(path: string): HashConfig {
  const text = readText(path);
  const value = (name: string) => new RegExp(`${name}"?\\s*:\\s*"?([^",\\s}]+)`).exec(text)?.[1];
  const algorithm = value("algorithm");
  if (algorithm !== "SCRYPT")
    throw usageFailure(`${path}: the algorithm must be SCRYPT, not ${algorithm ?? "absent"}.`);
  const [signerKey, separator] = [value("base64_signer_key"), value("base64_salt_separator") ?? ""];
  const [rounds, memCost] = [Number(value("rounds")), Number(value("mem_cost"))];
  if (signerKey === undefined || Number.isNaN(rounds) || Number.isNaN(memCost)) {
    throw usageFailure(`${path} must have base64_signer_key, rounds and mem_cost.`);
  }
  return { signerKey, separator, rounds, memCost };
}

/** A row of CSV or a record of the Admin SDK, with the members of the CLI's JSON. */
function toMembers(record: Json): Json {
  if (record["uid"] !== undefined) {
    const { uid, photoURL, passwordSalt, providerData, metadata, customClaims, multiFactor, ...same } = record;
    const listed = objectsOf(providerData).map(({ uid: rawId, ...rest }) => ({ ...rest, rawId }));
    return {
      ...same,
      ...{ localId: uid, photoUrl: photoURL, salt: passwordSalt, providerUserInfo: listed },
      ...{ customAttributes: customClaims, mfaInfo: objectOf(multiFactor)["enrolledFactors"] },
      createdAt: objectOf(metadata)["creationTime"],
    };
  }
  const named = providers.filter(({ name }) => textOf(record[`${name} ID`]) !== undefined);
  if (named.length === 0) return record;
  const listed = named.map(({ name, id }) => {
    return { providerId: id, rawId: record[`${name} ID`], email: record[`${name} email`] };
  });
  return { ...record, providerUserInfo: listed };
}

function toUser(user: Json, config: HashConfig | undefined, options: ReaderOptions): ReadUser {
  const id = idOf(user["localId"]);
  if (id === undefined) return { kind: "refused", reason: "has no localId" };
  const phone = textOf(user["phoneNumber"]);
  const connected = objectsOf(user["providerUserInfo"]).filter(
    ({ providerId }) => providerId !== "password" && providerId !== "phone",
  );
  const email = textOf(user["email"]);
  const hash = toHash(user, config);
  if (email === undefined && phone === undefined && hash === undefined && connected.length === 0) {
    return { kind: "leftOut", reason: "anonymous account" };
  }
  const line = compact({
    sub: id,
    username: email ?? id,
    status: isTrue(user["disabled"]) ? "suspended" : "active",
    claims: compact({
      ...{ name: textOf(user["displayName"]), picture: pictureOf(user["photoUrl"]) },
      ...phoneClaims(phone, phone !== undefined),
      ...addressClaims(email, user["emailVerified"]),
    }),
    password_hash: hash,
    identities: connected.map(({ providerId, rawId, email: label }) => identityOf(options, [providerId], rawId, label)),
    created_at: secondsOf(user["createdAt"]),
  });
  const leftOut = [
    ...["customAttributes", "mfaInfo"].filter((member) => hasContent(user[member])),
    ...(phone !== undefined && email === undefined && connected.length === 0 ? ["sign-in by telephone"] : []),
  ];
  return { kind: "user", user: line, leftOut };
}

/** `REDACTED`: whoever exported may not read hashes. */
const redacted = "UkVEQUNURUQ=";

function toHash(user: Json, config: HashConfig | undefined): string | undefined {
  const hash = textOf(user["passwordHash"]);
  if (hash === undefined) return undefined;
  if (hash === redacted) return unknownHash("REDACTED; export as an owner of the project");
  if (config === undefined) return unknownHash("scrypt without the parameters of the project");
  const salt = Buffer.concat([textOf(user["salt"]) ?? "", config.separator].map(decoded));
  return firebaseText(config, { salt, key: hash });
}

function decoded(text: string): Buffer {
  return Buffer.from(text, "base64");
}
