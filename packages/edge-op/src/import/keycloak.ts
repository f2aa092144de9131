import { encodeBase32 } from "@edge-op/protocol/encoding/base32";
import { argon2Text, pbkdf2Text, unknownHash } from "./hash-text.ts";
import { readJson, sourceFiles } from "./source-files.ts";
import {
  addressClaims,
  compact,
  isObject,
  objectsOf,
  type ReaderOptions,
  type SourceClient,
  type SourceUser,
  secondsOf,
  textOf,
} from "./source-user.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * **Users of a realm export** (`kc.sh export`, with one file or several). Client roles, required actions and attributes without a claim are left out.
 *
 * @see https://www.keycloak.org/server/importExport
 */
export async function* readKeycloakUsers(path: string, options: ReaderOptions): AsyncGenerator<SourceUser> {
  for (const file of sourceFiles(path)) {
    const content = readJson(file);
    for (const user of objectsOf(isObject(content) ? content["users"] : undefined)) {
      if (user["serviceAccountClientId"] === undefined) yield toUser(user, options);
    }
  }
}

function toUser(user: Json, { upstreams, withRoles }: ReaderOptions): SourceUser {
  const credentials = objectsOf(user["credentials"]).map(readCredential);
  const attributes = isObject(user["attributes"]) ? user["attributes"] : {};
  const [given, family] = [textOf(user["firstName"]), textOf(user["lastName"])];
  const name = [given, family].filter((part) => part !== undefined).join(" ");
  const actions = Array.isArray(user["requiredActions"]) ? user["requiredActions"].map(String) : [];
  const line = compact({
    sub: user["id"],
    username: user["username"],
    status: user["enabled"] === false ? "suspended" : "active",
    claims: compact({
      ...{ name: textOf(name), given_name: given, family_name: family, locale: first(attributes["locale"]) },
      ...addressClaims(user["email"], user["emailVerified"]),
    }),
    ...(withRoles ? rolesOf(user) : {}),
    password_hash: credentials.find((each) => each.hash !== undefined)?.hash,
    totp: credentials.flatMap(({ app }) => (app === undefined ? [] : [app])),
    passkeys: credentials.flatMap(({ passkey }) => (passkey === undefined ? [] : [passkey])),
    identities: objectsOf(user["federatedIdentities"]).map((identity) => {
      const provider = String(identity["identityProvider"]);
      const label = textOf(identity["userName"]);
      return compact({ upstream_id: upstreams.get(provider) ?? provider, subject: identity["userId"], label });
    }),
    created_at: secondsOf(user["createdTimestamp"]),
  });
  const leftOut = [
    ...credentials.flatMap((each) => (each.leftOut === undefined ? [] : [each.leftOut])),
    ...actions.map((action) => `required action ${action}`),
    ...Object.keys(attributes)
      .filter((attribute) => attribute !== "locale")
      .map((attribute) => `attribute ${attribute}`),
  ];
  return { line, leftOut };
}

function first(value: unknown): string | undefined {
  return Array.isArray(value) ? textOf(value[0]) : undefined;
}

const ownRoles = /^(default-roles-.*|offline_access|uma_authorization)$/;

/** Groups have paths: `/staff/berlin` is `staff:berlin`. */
function rolesOf(user: Json): Json {
  const texts = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);
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

function readCredential(credential: Json): Credential {
  const type = String(credential["type"]);
  const [secret, data] = [parsed(credential["secretData"]), parsed(credential["credentialData"])];
  const created = secondsOf(credential["createdDate"]);
  if (type === "password") return { hash: toHash(secret, data) };
  if (type === "otp") return toApp(secret, data, created);
  if (type !== "webauthn-passwordless") return { leftOut: `credential of type ${type}` };
  const url = (value: unknown) => Buffer.from(String(value), "base64").toString("base64url");
  return {
    passkey: compact({
      ...{ credential_id: url(data["credentialId"]), public_key: url(data["credentialPublicKey"]) },
      ...{ sign_count: data["counter"], transports: data["transports"], name: textOf(credential["userLabel"]) },
      created_at: created,
    }),
  };
}

function parsed(text: unknown): Json {
  const value: unknown = typeof text === "string" ? JSON.parse(text) : text;
  return isObject(value) ? value : {};
}

function toHash(secret: Json, data: Json): string {
  const encoded = { salt: String(secret["salt"]), key: String(secret["value"]) };
  const algorithm = String(data["algorithm"]);
  const iterations = data["hashIterations"];
  if (algorithm === "pbkdf2") return pbkdf2Text("sha1", iterations, encoded);
  if (/^pbkdf2-sha(256|512)$/.test(algorithm)) return pbkdf2Text(algorithm.slice(7), iterations, encoded);
  const more = isObject(data["additionalParameters"]) ? data["additionalParameters"] : {};
  const isKnown = algorithm === "argon2" && first(more["type"]) === "id" && first(more["version"]) === "1.3";
  if (!isKnown) return encoded.key.startsWith("$2") ? encoded.key : unknownHash(algorithm);
  return argon2Text({ m: first(more["memory"]), t: iterations, p: first(more["parallelism"]) }, encoded);
}

/** The secret is the text itself, unless its encoding is named. */
function toApp(secret: Json, data: Json, created: number | undefined): Credential {
  const isUsual =
    data["subType"] === "totp" && data["digits"] === 6 && data["period"] === 30 && data["algorithm"] === "HmacSHA1";
  const value = String(secret["value"]);
  if (!isUsual) return { leftOut: "authenticator app that does not use SHA-1, six digits and 30 seconds" };
  const isBase32 = data["secretEncoding"] === "BASE32";
  return { app: compact({ secret: isBase32 ? value : encodeBase32(Buffer.from(value)), created_at: created }) };
}

const ownClients = ["account", "account-console", "admin-cli", "broker", "realm-management", "security-admin-console"];

/** **Clients of a realm export**, without those of Keycloak itself. */
export function* readKeycloakClients(path: string): Generator<SourceClient> {
  for (const file of sourceFiles(path)) {
    const content = readJson(file);
    for (const client of objectsOf(isObject(content) ? content["clients"] : undefined)) {
      if (!ownClients.includes(String(client["clientId"])) && client["bearerOnly"] !== true) yield toClient(client);
    }
  }
}

function toClient(client: Json): SourceClient {
  const attributes = isObject(client["attributes"]) ? client["attributes"] : {};
  const isPublic = client["publicClient"] === true;
  const usesSecret = !isPublic && client["clientAuthenticatorType"] === "client-secret";
  const isStandard = client["standardFlowEnabled"] === true;
  const grants = [
    ...(isStandard ? ["authorization_code", "refresh_token"] : []),
    ...(client["serviceAccountsEnabled"] === true ? ["client_credentials"] : []),
  ];
  const scopes = [client["defaultClientScopes"], client["optionalClientScopes"]].flat().map(String);
  const known = ["openid", "profile", "email", "address", "phone", "offline_access"];
  const scope = ["openid", ...scopes].filter(
    (value, index, all) => known.includes(value) && all.indexOf(value) === index,
  );
  const leftOut = [
    ...(client["implicitFlowEnabled"] === true ? ["implicit flow"] : []),
    ...(client["directAccessGrantsEnabled"] === true ? ["direct access grants"] : []),
  ];
  return {
    client: compact({
      client_id: client["clientId"],
      client_name: textOf(client["name"]) ?? client["clientId"],
      status: client["enabled"] === false ? "disabled" : "active",
      token_endpoint_auth_method: isPublic ? "none" : usesSecret ? "client_secret_basic" : "private_key_jwt",
      client_secret: usesSecret ? textOf(client["secret"]) : undefined,
      jwks_uri: isPublic || usesSecret ? undefined : textOf(attributes["jwks.url"]),
      redirect_uris: isStandard ? client["redirectUris"] : [],
      post_logout_redirect_uris: textOf(attributes["post.logout.redirect.uris"])
        ?.split("##")
        .filter((uri) => uri !== "+" && uri !== "-"),
      grant_types: grants,
      scope: isStandard ? scope.join(" ") : undefined,
    }),
    leftOut,
  };
}
