import { randomUUID } from "node:crypto";
import { AdminApi } from "../../packages/edge-op/src/provider-api.ts";
import { jwtSigner, newPrivateKey, publicKeyOf } from "../lib/node-jwt-signer.ts";
import type { IdentityProvider, SeedClient } from "../lib/seed-file.ts";
import type { Deployment } from "../lib/start-provider.ts";

export interface RegisteredIssuer {
  readonly identityProvider: IdentityProvider;
  readonly client: SeedClient;
}

export const jwtBearerGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** **Registers a trusted issuer of ID-JAGs**, whose key the load tests have, and the client that presents them. */
export async function registerIssuer(deployment: Deployment): Promise<RegisteredIssuer> {
  const admin = new AdminApi(deployment.origin, deployment.admin);
  const resource = "https://id-jag.example.com/api";
  const scope = "id-jag:read";
  const issuer = `https://${randomUUID()}.idp.example`;
  const key = newPrivateKey();
  const metadata = { grant_types: [jwtBearerGrant], scope, audiences: [resource] };
  const created = await admin.require("POST", "/clients", metadata);
  const client = { client_id: String(created["client_id"]), client_secret: String(created["client_secret"]) };
  const rule = {
    ...{ rule_id: "users", uses: ["id_jag"], claims: {}, clients: [client.client_id] },
    ...{ subject: { type: "user", claim: "sub", by: "sub" }, resources: [resource], scopes: [scope] },
  };
  const jwks = { keys: [publicKeyOf(key)] };
  await admin.require("POST", "/issuers", { issuer, jwks, algorithms: ["ES256"], rules: [rule] });
  return { identityProvider: { issuer, resource, scope, key }, client };
}

/** Signs ID-JAGs, each with a unique id. */
export function idJagSigner({ identityProvider, client }: RegisteredIssuer, audience: string): (sub: string) => string {
  const { issuer, resource, scope, key } = identityProvider;
  const sign = jwtSigner({ typ: "oauth-id-jag+jwt" }, key);
  return (sub) => {
    const now = Math.floor(Date.now() / 1000);
    const times = { iat: now, exp: now + 300, jti: randomUUID() };
    return sign({ iss: issuer, sub, aud: audience, client_id: client.client_id, resource, scope, ...times });
  };
}
