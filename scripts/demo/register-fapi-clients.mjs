/**
 * **Registers the clients of OpenID's suite for FAPI 2.0**, and writes a configuration for each pair (docs/operating/certify.md). Reads
 * ISSUER, SUITE, ALIAS and ADMIN, an access token, from the environment, and `.op/suite.json` for the browser's commands.
 */
import { generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const { ISSUER, SUITE, ALIAS, ADMIN } = process.env;
const callback = `${SUITE}/test/a/${ALIAS}/callback`;
const scope = "openid profile email offline_access";
const names = ["client", "client2"];
const authentications = {
  private_key_jwt: () => ({ token_endpoint_auth_method: "private_key_jwt" }),
  mtls: (name) => ({
    token_endpoint_auth_method: "tls_client_auth",
    tls_client_auth_subject_dn: `CN=${name},O=Suite`,
  }),
};
const profiles = { "security-profile": "fapi2", "message-signing": "fapi2_message_signing" };
const { server, browser } = JSON.parse(readFileSync(".op/suite.json", "utf8"));

for (const [title, profile] of Object.entries(profiles)) {
  for (const [authentication, members] of Object.entries(authentications)) {
    const clients = {};
    for (const name of names) clients[name] = await register(profile, members(name));
    const configuration = { alias: ALIAS, description: `Edge OP, ${title}, ${authentication}`, server, ...clients };
    const certificates = { mtls: certificate("client"), mtls2: certificate("client2") };
    const resource = { resourceUrl: `${ISSUER}/userinfo` };
    const file = `.op/fapi2-${title}-${authentication}.json`;
    writeFileSync(file, JSON.stringify({ ...configuration, ...certificates, resource, browser }, null, 2));
  }
}

/** A client with a key of its own, for its assertions and request objects. */
async function register(profile, members) {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const use = { kid: "suite", use: "sig", alg: "ES256" };
  const body = {
    ...{ client_name: "Conformance suite", security_profile: profile, ...members, scope },
    ...{ grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] },
    redirect_uris: [callback, `${callback}?dummy1=lorem&dummy2=ipsum`],
    jwks: { keys: [{ ...publicKey.export({ format: "jwk" }), ...use }] },
  };
  const headers = { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" };
  const response = await fetch(`${ISSUER}/admin/clients`, { method: "POST", headers, body: JSON.stringify(body) });
  const created = await response.json();
  if (response.status !== 201) throw new Error(`${response.status} ${JSON.stringify(created)}`);
  const jwks = { keys: [{ ...privateKey.export({ format: "jwk" }), ...use }] };
  return { client_id: created.client_id, scope, jwks };
}

function certificate(name) {
  const read = (file) => readFileSync(file, "utf8");
  return { cert: read(`.op/mtls-${name}.crt`), key: read(`.op/mtls-${name}.key`), ca: read(".op/ca.crt") };
}
