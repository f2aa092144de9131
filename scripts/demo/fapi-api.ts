/**
 * **An API for the conformance suite's FAPI 2.0 plans without OpenID Connect** (docs/operating/certify.md):
 * `node scripts/with-toolchain.mjs scripts/demo/fapi-api.ts <port>`, behind `tls-proxy.mjs`. Tokens are introspected; a DPoP proof is accepted once.
 * Reads ISSUER and RESOURCE, its own URL, from the environment, and its client from `.op/api.json`.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { ProtectedResource } from "../../packages/resource-server/src/protected-resource.ts";
import { isolateUsedProofs } from "../../packages/resource-server/src/used-proofs.ts";
import { introspectionValidator } from "../../packages/resource-server/src/validate-by-introspection.ts";

const { ISSUER: issuer = "", RESOURCE: resource = "" } = process.env;
const client = JSON.parse(readFileSync(".op/api.json", "utf8")) as Record<"client_id" | "client_secret", string>;
const credentials = { clientId: client.client_id, clientSecret: client.client_secret };
const validate = introspectionValidator({ endpoint: `${issuer}/introspect`, ...credentials, issuer });
const api = new ProtectedResource({
  resourceMetadata: { resource, authorization_servers: [issuer] },
  requiredScopes: ["api:read"],
  requiresBoundTokens: true,
  dpop: { usedProofs: isolateUsedProofs() },
  validateToken: () => validate,
  clientCertificate: (request) => thumbprint(request.headers.get("client-cert") ?? ""),
});

/** `x5t#S256` of the certificate that the proxy forwards, between colons. The proxy replaces what a caller sends. */
function thumbprint(header: string): string | undefined {
  const [, der = ""] = /^:(.+):$/.exec(header) ?? [];
  return der === "" ? undefined : createHash("sha256").update(Buffer.from(der, "base64")).digest("base64url");
}

const server = createServer(({ method = "GET", url = "/", headers }, outgoing) => {
  const entries = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  const request = new Request(new URL(url, resource), { method, headers: entries });
  void api.authenticate(request, {}).then(async (result) => {
    const response = result.ok ? Response.json({ sub: result.auth.userId ?? null }) : result.response;
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  });
});
server.listen(Number(process.argv[2]), "127.0.0.1");
