import { usageFailure } from "../console/failure.ts";
import { readText } from "../console/read-document.ts";
import { firebaseText } from "./hash-text.ts";
import { readJson, sourceFiles } from "./source-files.ts";
import {
  addressClaims,
  compact,
  isObject,
  objectsOf,
  pictureOf,
  type ReaderOptions,
  type SourceUser,
  secondsOf,
  textOf,
} from "./source-user.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * **Users of Firebase Authentication**: `firebase auth:export users.json`, and in `beside` the password hash parameters of the project as the console shows
 * them. Custom claims and enrolled phones are left out.
 *
 * @see https://firebase.google.com/docs/cli/auth
 */
export async function* readFirebaseUsers(path: string, options: ReaderOptions): AsyncGenerator<SourceUser> {
  const config = options.beside === undefined ? undefined : readHashConfig(options.beside);
  for (const file of sourceFiles(path)) {
    const content = readJson(file);
    for (const user of objectsOf(isObject(content) ? content["users"] : undefined)) yield toUser(user, config, options);
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

function toUser(user: Json, config: HashConfig | undefined, { upstreams }: ReaderOptions): SourceUser {
  const [hash, salt] = [textOf(user["passwordHash"]), textOf(user["salt"])];
  if (hash !== undefined && config === undefined) {
    throw usageFailure("The file has password hashes: --beside names a file with the hash parameters of the project.");
  }
  const providers = objectsOf(user["providerUserInfo"]).filter(
    ({ providerId }) => providerId !== "password" && providerId !== "phone",
  );
  const line = compact({
    sub: user["localId"],
    username: textOf(user["email"]) ?? user["localId"],
    status: user["disabled"] === true ? "suspended" : "active",
    claims: compact({
      ...{ name: textOf(user["displayName"]), picture: pictureOf(user["photoUrl"]) },
      phone_number: textOf(user["phoneNumber"]),
      ...addressClaims(user["email"], user["emailVerified"]),
    }),
    password_hash:
      hash === undefined || config === undefined
        ? undefined
        : firebaseText(config, { salt: Buffer.concat([salt ?? "", config.separator].map(decoded)), key: hash }),
    identities: providers.map(({ providerId, rawId, email }) =>
      compact({ upstream_id: upstreams.get(String(providerId)) ?? providerId, subject: rawId, label: textOf(email) }),
    ),
    created_at: secondsOf(user["createdAt"]),
  });
  const left = ["customAttributes", "mfaInfo"].filter((member) => user[member] !== undefined);
  return { line, leftOut: left };
}

function decoded(text: string): Buffer {
  return Buffer.from(text, "base64");
}
