/**
 * **node-oidc-provider on Node, as it comes**: in-memory adapter, opaque tokens, nothing durable, nothing signed. What the
 * bench puts our figures beside. Says where it listens and which tokens it made as one line of JSON; ends when its standard
 * input does.
 */
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

const client = { client_id: "bench", client_secret: "bench-secret-bench-secret-bench-secret" };
const tokenCount = 200;

const server = createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(origin, {
  clients: [
    {
      ...client,
      grant_types: ["client_credentials", "authorization_code"],
      redirect_uris: ["https://client.example.com/callback"],
      token_endpoint_auth_method: "client_secret_basic",
    },
  ],
  routes: { introspection: "/introspect", userinfo: "/userinfo", token: "/token" },
  features: {
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    devInteractions: { enabled: false },
  },
  claims: { profile: ["name"], email: ["email", "email_verified"] },
  cookies: { keys: ["unused: no browser comes here"] },
  findAccount: (_, accountId) => ({
    accountId,
    claims: () => ({ sub: accountId, name: "A Person", email: "person@example.com", email_verified: true }),
  }),
  ttl: { AccessToken: 86_400, ClientCredentials: 3_600, Grant: 86_400 },
});
server.on("request", provider.callback());

async function makeToken(index) {
  const accountId = `person-${index % 8}`;
  const grant = new provider.Grant({ accountId, clientId: client.client_id });
  grant.addOIDCScope("openid profile email");
  const token = new provider.AccessToken({
    accountId,
    client: await provider.Client.find(client.client_id),
    grantId: await grant.save(),
    gty: "authorization_code",
    scope: "openid profile email",
  });
  return token.save();
}

const tokens = await Promise.all(Array.from({ length: tokenCount }, (_, index) => makeToken(index)));
process.stdin.on("end", () => process.exit(0));
process.stdin.resume();
console.log(JSON.stringify({ origin, client, tokens }));
