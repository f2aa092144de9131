import { createHash } from "node:crypto";
import { encodeBase32 } from "@edge-op/protocol/encoding/bytes";
import { argon2Text, pbkdf2Text, unknownHash } from "./hash-text.ts";
import {
  addressClaims,
  compact,
  identityOf,
  idOf,
  isObject,
  type Json,
  nameClaims,
  objectOf,
  objectsOf,
  parsedText,
  type ReaderOptions,
  type ReadUser,
  secondsOf,
  textOf,
  type UserReader,
  wordOf,
} from "./source-user.ts";

/**
 * **Users of a realm export** (`kc.sh export`, with one file or several), or a list of them (`kcadm get users`), which has no credentials. Client
 * roles, required actions but a new password, and attributes without a claim are left out.
 *
 * @see https://www.keycloak.org/server/importExport
 */
export const keycloakReader: UserReader = {
  lists: ["users"],
  // A partial export, and the file of the realm beside those of its users.
  isContainer: (record) => record["realm"] !== undefined && record["username"] === undefined,
  open: (options) => (user) => toUser(user, options),
};

function toUser(user: Json, options: ReaderOptions): ReadUser {
  const username = textOf(user["username"]);
  if (username === undefined) return { kind: "refused", reason: "has no username" };
  const service = user["serviceAccountClientId"];
  if (service !== undefined) return { kind: "leftOut", reason: `service account of the client ${wordOf(service)}` };
  const id = idOf(user["id"]);
  const credentials = objectsOf(user["credentials"]).map(readCredential);
  const attributes = objectOf(user["attributes"]);
  const actions = Array.isArray(user["requiredActions"]) ? user["requiredActions"].map(wordOf) : [];
  const federation = user["federationLink"];
  const hash = credentials.find((each) => each.hash !== undefined)?.hash;
  const isTemporary = actions.includes("UPDATE_PASSWORD");
  const line = compact({
    sub: id ?? subOf(username),
    username,
    status: user["enabled"] === false ? "suspended" : "active",
    claims: compact({
      ...nameClaims(user["firstName"], user["lastName"]),
      locale: first(attributes["locale"]),
      ...addressClaims(user["email"], user["emailVerified"]),
    }),
    ...(options.withRoles ? rolesOf(user) : {}),
    password_hash: hash,
    password_until: hash !== undefined && isTemporary ? temporaryUntil() : undefined,
    totp: credentials.flatMap(({ app }) => (app === undefined ? [] : [app])),
    passkeys: credentials.flatMap(({ passkey }) => (passkey === undefined ? [] : [passkey])),
    identities: objectsOf(user["federatedIdentities"]).map(({ identityProvider, userId, userName }) =>
      identityOf(options, [identityProvider], userId, userName),
    ),
    created_at: secondsOf(user["createdTimestamp"]),
  });
  const leftOut = [
    ...credentials.flatMap((each) => (each.leftOut === undefined ? [] : [each.leftOut])),
    ...actions
      .filter((action) => action !== "UPDATE_PASSWORD" || hash === undefined)
      .map((action) => `required action ${action}`),
    ...Object.keys(attributes)
      .filter((attribute) => attribute !== "locale")
      .map((attribute) => `attribute ${attribute}`),
    ...(typeof federation === "string" ? [`federation ${federation}, which has the password`] : []),
    ...(id === undefined ? ["id: the sub is made from the username"] : []),
  ];
  return { kind: "user", user: line, leftOut };
}

const temporaryDays = 30;

/** Keycloak's temporary passwords have no end; people who do not come until then set a new password by mail. */
function temporaryUntil(): number {
  return Math.floor(Date.now() / 1000) + temporaryDays * 86_400;
}

/** The same at each run, so that a repeated import finds the user. */
function subOf(username: string): string {
  return `keycloak-${createHash("sha256").update(username.toLowerCase()).digest("hex").slice(0, 32)}`;
}

function first(value: unknown): string | undefined {
  return Array.isArray(value) ? textOf(value[0]) : undefined;
}

const ownRoles = /^(default-roles-.*|offline_access|uma_authorization)$/;

/** Groups have paths: `/staff/berlin` is `staff:berlin`. */
function rolesOf(user: Json): Json {
  const texts = (value: unknown) => (Array.isArray(value) ? value.map(wordOf) : []);
  return {
    roles: texts(user["realmRoles"]).filter((role) => !ownRoles.test(role)),
    groups: texts(user["groups"]).map((group) => group.replace(/^\//, "").replaceAll("/", ":")),
  };
}

interface Credential {
  readonly hash?: string;
  readonly app?: Json;
  readonly passkey?: Json;
  readonly leftOut?: string;
}

const damaged = "its data is damaged";

function readCredential(credential: Json): Credential {
  const type = wordOf(credential["type"]);
  if (type !== "password" && type !== "otp" && type !== "webauthn-passwordless") {
    return { leftOut: `credential of type ${type}` };
  }
  const [secret, data] = [credential["secretData"], credential["credentialData"]].map(parsedText);
  if (!isObject(secret) || !isObject(data)) {
    return type === "password" ? { hash: unknownHash(damaged) } : { leftOut: `credential of type ${type}, ${damaged}` };
  }
  const created = secondsOf(credential["createdDate"]);
  if (type === "password") return { hash: toHash(secret, data) };
  if (type === "otp") return toApp(secret, data, created);
  const url = (value: unknown) => Buffer.from(textOf(value) ?? "", "base64").toString("base64url");
  return {
    passkey: compact({
      ...{ credential_id: url(data["credentialId"]), public_key: url(data["credentialPublicKey"]) },
      ...{ sign_count: data["counter"], transports: data["transports"], name: textOf(credential["userLabel"]) },
      created_at: created,
    }),
  };
}

function toHash(secret: Json, data: Json): string {
  const [salt, key] = [textOf(secret["salt"]), textOf(secret["value"])];
  if (key === undefined) return unknownHash(damaged);
  const algorithm = wordOf(data["algorithm"]);
  const iterations = wordOf(data["hashIterations"]);
  if (key.startsWith("$2")) return key;
  if (salt === undefined) return unknownHash(damaged);
  const encoded = { salt, key };
  if (algorithm === "pbkdf2") return pbkdf2Text("sha1", iterations, encoded);
  if (/^pbkdf2-sha(256|512)$/.test(algorithm)) return pbkdf2Text(algorithm.slice(7), iterations, encoded);
  const more = objectOf(data["additionalParameters"]);
  const isKnown = algorithm === "argon2" && first(more["type"]) === "id" && first(more["version"]) === "1.3";
  if (!isKnown) return unknownHash(algorithm);
  return argon2Text({ m: first(more["memory"]), t: iterations, p: first(more["parallelism"]) }, encoded);
}

/** The secret is the text itself, unless its encoding is named. */
function toApp(secret: Json, data: Json, created: number | undefined): Credential {
  const isUsual =
    data["subType"] === "totp" && data["digits"] === 6 && data["period"] === 30 && data["algorithm"] === "HmacSHA1";
  const value = textOf(secret["value"]);
  if (!isUsual) return { leftOut: "authenticator app that does not use SHA-1, six digits and 30 seconds" };
  if (value === undefined) return { leftOut: `authenticator app ${damaged}` };
  const isBase32 = data["secretEncoding"] === "BASE32";
  return { app: compact({ secret: isBase32 ? value : encodeBase32(Buffer.from(value)), created_at: created }) };
}
