import { createPrivateKey, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { AdminApi } from "../../packages/local-provider/src/provider-api.ts";
import type { IdentityProvider, SeedClient } from "../lib/seed-file.ts";
import type { Deployment } from "./provision.ts";

/** **A trusted issuer of ID-JAGs, whose key the load tests have**, and the client that presents them. */
export interface RegisteredIssuer {
  readonly identityProvider: IdentityProvider;
  readonly client: SeedClient;
}

export const jwtBearerGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer";

export async function registerIssuer(deployment: Deployment): Promise<RegisteredIssuer> {
  const admin = new AdminApi(deployment.origin, deployment.admin);
  const resource = "https://id-jag.example.com/api";
  const scope = "id-jag:read";
  const issuer = `https://${randomUUID()}.idp.example`;
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const metadata = { grant_types: [jwtBearerGrant], scope, audiences: [resource] };
  const created = await admin.require("POST", "/clients", metadata);
  const client = { client_id: String(created["client_id"]), client_secret: String(created["client_secret"]) };
  const rule = {
    ...{ rule_id: "users", uses: ["id_jag"], claims: {}, clients: [client.client_id] },
    ...{ subject: { type: "user", claim: "sub", by: "sub" }, resources: [resource], scopes: [scope] },
  };
  const jwks = { keys: [publicKey.export({ format: "jwk" })] };
  await admin.require("POST", "/issuers", { issuer, jwks, algorithms: ["ES256"], rules: [rule] });
  const { kty = "", crv = "", x = "", y = "", d = "" } = privateKey.export({ format: "jwk" });
  return { identityProvider: { issuer, resource, scope, key: { kty, crv, x, y, d } }, client };
}

/** Signs ID-JAGs, each with an id of its own. */
export function idJagSigner({ identityProvider, client }: RegisteredIssuer, audience: string): (sub: string) => string {
  const { issuer, resource, scope, key } = identityProvider;
  const privateKey = createPrivateKey({ key: { ...key }, format: "jwk" });
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const header = encode({ alg: "ES256", typ: "oauth-id-jag+jwt" });
  return (sub) => {
    const now = Math.floor(Date.now() / 1000);
    const times = { iat: now, exp: now + 300, jti: randomUUID() };
    const claims = { iss: issuer, sub, aud: audience, client_id: client.client_id, resource, scope, ...times };
    const input = `${header}.${encode(claims)}`;
    const signature = sign("sha256", Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" });
    return `${input}.${signature.toString("base64url")}`;
  };
}
