import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { AdminApi } from "../../packages/local-provider/src/provider-api.ts";
import type { SeedClient } from "../lib/seed-file.ts";
import type { StartedProvider } from "../lib/start-provider.ts";
import type { Cast } from "../seed/provision.ts";

/**
 * **ID-JAGs at `/token`, each sent once**: of an identity provider whose key the bench has. A request costs the object call that records the
 * `jti`, a verification and a signature. The bench signs each one itself, in its own process.
 */
const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const resource = "https://id-jag.example.com/api";
const scope = "id-jag:read";

export interface IdJagSeeds {
  readonly client: SeedClient;
  /** The form of a request with an ID-JAG that was not sent before. */
  form(): string;
}

export async function prepareIdJags(provider: StartedProvider, cast: Cast): Promise<IdJagSeeds> {
  const admin = new AdminApi(provider.origin, provider.admin);
  const issuer = `https://${randomUUID()}.idp.example`;
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const metadata = { grant_types: [grantType], scope, audiences: [resource] };
  const created = await admin.require("POST", "/clients", metadata);
  const client = { client_id: String(created["client_id"]), client_secret: String(created["client_secret"]) };
  const rule = {
    ...{ rule_id: "users", uses: ["id_jag"], claims: {}, clients: [client.client_id] },
    ...{ subject: { type: "user", claim: "sub", by: "sub" }, resources: [resource], scopes: [scope] },
  };
  const jwks = { keys: [publicKey.export({ format: "jwk" })] };
  await admin.require("POST", "/issuers", { issuer, jwks, algorithms: ["ES256"], rules: [rule] });

  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const header = encode({ alg: "ES256", typ: "oauth-id-jag+jwt" });
  let turn = 0;
  const next = (): string => {
    const now = Math.floor(Date.now() / 1000);
    const { sub } = cast.people[turn++ % cast.people.length]!;
    const times = { iat: now, exp: now + 300, jti: randomUUID() };
    const claims = { iss: issuer, sub, aud: provider.issuer, client_id: client.client_id, resource, scope, ...times };
    const input = `${header}.${encode(claims)}`;
    const signature = sign("sha256", Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" });
    return `${input}.${signature.toString("base64url")}`;
  };
  return { client, form: () => new URLSearchParams({ grant_type: grantType, assertion: next() }).toString() };
}
