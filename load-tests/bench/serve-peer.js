/**
 * **node-oidc-provider on Node**, with which our figures are compared, in one process. Prints where it listens and which tokens it made as one line of
 * JSON; ends when its standard input does. Takes options as JSON in the first argument:
 *
 * - `likeOurs`: its records, clients included, in SQLite (`node:sqlite`, WAL, each write synchronous), and ES256 JWTs as access tokens wherever it issues
 *   some. It refuses to introspect a JWT, and its UserInfo refuses a token with an audience: what these get is opaque. Otherwise its records are in a
 *   `Map`: opaque tokens, nothing durable, nothing signed that the client did not request.
 * - `databaseMs`: the round trip to its database; the responses contain the number of queries (`Server-Timing`).
 *
 * Accounts are in its memory in any case.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { Provider } from "oidc-provider";

const { families: familyCount = 64, likeOurs = false, databaseMs = 0 } = JSON.parse(process.argv[2] ?? "{}");
const secret = "bench-secret-bench-secret-bench-secret";
const clientNames = ["bench", "bench-rs256", "bench-es256"];
const tokenCount = 200;
const tokenScope = "openid profile email";

/** Its own in-memory adapter evicts by age, and slows down with every rotation. */
const records = new Map();
class MapAdapter {
  constructor(model) {
    this.model = model;
  }
  key(id) {
    return `${this.model}:${id}`;
  }
  async upsert(id, payload) {
    records.set(this.key(id), payload);
  }
  async find(id) {
    return records.get(this.key(id));
  }
  async findByUid() {}
  async findByUserCode() {}
  /** A used token of this bench is not presented again. */
  async consume(id) {
    records.delete(this.key(id));
  }
  async destroy(id) {
    records.delete(this.key(id));
  }
  async revokeByGrantId() {}
}

const directory = mkdtempSync(join(tmpdir(), "bench-peer-"));
process.once("exit", () => rmSync(directory, { recursive: true, force: true }));

function openDatabase() {
  const database = new DatabaseSync(join(directory, "records.sqlite"));
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE records (
      model TEXT, id TEXT, payload TEXT NOT NULL, grant_id TEXT, consumed_at INTEGER, expires_at INTEGER,
      PRIMARY KEY (model, id)
    ) WITHOUT ROWID;
    CREATE INDEX records_by_grant ON records (grant_id)`);
  return {
    upsert: database.prepare(
      "INSERT OR REPLACE INTO records (model, id, payload, grant_id, expires_at) VALUES (?, ?, ?, ?, ?)",
    ),
    find: database.prepare("SELECT payload, consumed_at FROM records WHERE model = ? AND id = ? AND expires_at > ?"),
    consume: database.prepare("UPDATE records SET consumed_at = ? WHERE model = ? AND id = ?"),
    destroy: database.prepare("DELETE FROM records WHERE model = ? AND id = ?"),
    revoke: database.prepare("DELETE FROM records WHERE grant_id = ?"),
  };
}
const statements = likeOurs ? openDatabase() : undefined;
const now = () => Math.floor(Date.now() / 1000);

class SqliteAdapter {
  constructor(model) {
    this.model = model;
  }
  async upsert(id, payload, expiresIn) {
    statements.upsert.run(this.model, id, JSON.stringify(payload), payload.grantId ?? null, now() + expiresIn);
  }
  async find(id) {
    const row = statements.find.get(this.model, id, now());
    if (row === undefined) return undefined;
    return { ...JSON.parse(row.payload), ...(row.consumed_at === null ? {} : { consumed: row.consumed_at }) };
  }
  async findByUid() {}
  async findByUserCode() {}
  async consume(id) {
    statements.consume.run(now(), this.model, id);
  }
  async destroy(id) {
    statements.destroy.run(this.model, id);
  }
  async revokeByGrantId(grantId) {
    statements.revoke.run(grantId);
  }
}

/** The queries of the request in progress. */
const requests = new AsyncLocalStorage();

function atDistance(Adapter) {
  class Distant extends Adapter {}
  for (const method of ["upsert", "find", "consume", "destroy", "revokeByGrantId"]) {
    Distant.prototype[method] = async function (...args) {
      const request = requests.getStore();
      if (request !== undefined) {
        request.queries += 1;
        await sleep(databaseMs);
      }
      return Adapter.prototype[method].apply(this, args);
    };
  }
  return Distant;
}
const LocalAdapter = likeOurs ? SqliteAdapter : MapAdapter;

function makeKey(alg, type, options) {
  const { privateKey } = generateKeyPairSync(type, options);
  return { ...privateKey.export({ format: "jwk" }), alg, use: "sig", kid: alg };
}

const server = createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;
const resource = "https://api.example.com";
const registrations = clientNames.map((name) => ({
  client_id: name,
  client_secret: secret,
  grant_types: ["client_credentials", "authorization_code", "refresh_token"],
  redirect_uris: ["https://client.example.com/callback"],
  token_endpoint_auth_method: "client_secret_basic",
  id_token_signed_response_alg: name === "bench-es256" ? "ES256" : "RS256",
}));
if (likeOurs) {
  const clients = new SqliteAdapter("Client");
  for (const registration of registrations) await clients.upsert(registration.client_id, registration, 86_400);
}

const provider = new Provider(origin, {
  adapter: databaseMs > 0 ? atDistance(LocalAdapter) : LocalAdapter,
  clients: likeOurs ? [] : registrations,
  jwks: { keys: [makeKey("RS256", "rsa", { modulusLength: 2048 }), makeKey("ES256", "ec", { namedCurve: "P-256" })] },
  enabledJWA: { idTokenSigningAlgValues: ["RS256", "ES256"] },
  routes: { introspection: "/introspect", userinfo: "/userinfo", token: "/token", jwks: "/jwks" },
  features: {
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => (likeOurs ? resource : undefined),
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope: "profile", accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256" } } }),
    },
  },
  claims: { profile: ["name"], email: ["email", "email_verified"] },
  cookies: { keys: ["unused: no browser comes here"] },
  rotateRefreshToken: true,
  findAccount: (_, accountId) => ({
    accountId,
    claims: () => ({ sub: accountId, name: "A Person", email: "person@example.com", email_verified: true }),
  }),
  ttl: { AccessToken: 86_400, ClientCredentials: 3_600, Grant: 86_400, IdToken: 3_600, RefreshToken: 86_400 },
});
const callback = provider.callback();
server.on("request", (request, response) => {
  if (databaseMs === 0) return callback(request, response);
  const counted = { queries: 0 };
  const { writeHead } = response;
  response.writeHead = (...args) => {
    response.setHeader("Server-Timing", `object;dur=0, kv;dur=0, d1;dur=${counted.queries}`);
    return writeHead.apply(response, args);
  };
  return requests.run(counted, () => callback(request, response));
});

async function makeToken(model, clientName, scope, index) {
  const accountId = `person-${index % 8}`;
  const grant = new provider.Grant({ accountId, clientId: clientName });
  grant.addOIDCScope("openid profile email offline_access");
  grant.addResourceScope(resource, "profile");
  const token = new provider[model]({
    accountId,
    client: await provider.Client.find(clientName),
    grantId: await grant.save(),
    gty: "authorization_code",
    scope,
    ...(likeOurs && model === "RefreshToken" ? { resource } : {}),
  });
  return token.save();
}

const make = (count, ...how) => Promise.all(Array.from({ length: count }, (_, index) => makeToken(...how, index)));
const tokens = await make(tokenCount, "AccessToken", "bench", tokenScope);
const refreshTokens = {
  opaque: await make(familyCount, "RefreshToken", "bench", "profile offline_access"),
  rs256: await make(familyCount, "RefreshToken", "bench-rs256", "openid profile offline_access"),
  es256: await make(familyCount, "RefreshToken", "bench-es256", "openid profile offline_access"),
};
const clients = Object.fromEntries(clientNames.map((name) => [name, { client_id: name, client_secret: secret }]));
process.stdin.on("end", () => process.exit(0));
process.stdin.resume();
console.log(JSON.stringify({ origin, clients, tokens, refreshTokens }));
