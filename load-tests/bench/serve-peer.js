/**
 * **node-oidc-provider on Node**, with its records in a `Map`: opaque tokens, nothing durable, nothing signed that the client did not
 * request. Our figures are compared with it. Prints where it listens and which tokens it made as one line of JSON; ends when its
 * standard input does.
 */
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

const secret = "bench-secret-bench-secret-bench-secret";
const clientNames = ["bench", "bench-jwt", "bench-rs256", "bench-es256"];
const tokenCount = 200;
const familyCount = Number(JSON.parse(process.argv[2] ?? "{}").families ?? 64);
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

function makeKey(alg, type, options) {
  const { privateKey } = generateKeyPairSync(type, options);
  return { ...privateKey.export({ format: "jwk" }), alg, use: "sig", kid: alg };
}

const server = createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;
const resource = "https://api.example.com";

const provider = new Provider(origin, {
  adapter: MapAdapter,
  clients: clientNames.map((name) => ({
    client_id: name,
    client_secret: secret,
    grant_types: ["client_credentials", "authorization_code", "refresh_token"],
    redirect_uris: ["https://client.example.com/callback"],
    token_endpoint_auth_method: "client_secret_basic",
    id_token_signed_response_alg: name === "bench-es256" ? "ES256" : "RS256",
  })),
  jwks: { keys: [makeKey("RS256", "rsa", { modulusLength: 2048 }), makeKey("ES256", "ec", { namedCurve: "P-256" })] },
  enabledJWA: { idTokenSigningAlgValues: ["RS256", "ES256"] },
  routes: { introspection: "/introspect", userinfo: "/userinfo", token: "/token", jwks: "/jwks" },
  features: {
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_, client) => (client.clientId === "bench-jwt" ? resource : undefined),
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope: "", accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256" } } }),
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
server.on("request", provider.callback());

async function makeToken(model, clientName, scope, index) {
  const accountId = `person-${index % 8}`;
  const grant = new provider.Grant({ accountId, clientId: clientName });
  grant.addOIDCScope("openid profile email offline_access");
  const token = new provider[model]({
    accountId,
    client: await provider.Client.find(clientName),
    grantId: await grant.save(),
    gty: "authorization_code",
    scope,
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
