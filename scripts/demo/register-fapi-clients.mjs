/**
 * **Registers the clients of OpenID's conformance suite for FAPI 2.0**, and writes a configuration for each pair (docs/operating/certify.md). Reads
 * ISSUER, SUITE, ALIAS and ADMIN, an access token, from the environment, and `.op/suite.json` for the browser's commands. With RESOURCE, the URL of
 * an API, the clients are for plain OAuth: without OpenID Connect, UserInfo cannot be the resource.
 */

import { generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const { ISSUER, SUITE, ALIAS, ADMIN, RESOURCE } = process.env;
const callback = `${SUITE}/test/a/${ALIAS}/callback`;
const api =
  RESOURCE === undefined
    ? { prefix: "", scope: "openid profile email address phone offline_access", resourceUrl: `${ISSUER}/userinfo` }
    : { prefix: "plain-oauth-", scope: "api:read", resourceUrl: RESOURCE, audiences: [RESOURCE] };
const { prefix, scope, resourceUrl, audiences } = api;
const names = ["client", "client2"];
const authentications = {
  private_key_jwt: () => ({ token_endpoint_auth_method: "private_key_jwt" }),
  mtls: (name) => ({
    token_endpoint_auth_method: "tls_client_auth",
    tls_client_auth_subject_dn: `CN=${name},O=Suite`,
  }),
};
/** The tokens of a client that may use either kind of proof would be bound by the certificate with which it authenticates. */
const senders = {
  dpop: { dpop_bound_access_tokens: true },
  mtls: { tls_client_certificate_bound_access_tokens: true },
};
const profiles = { "security-profile": "fapi2", "message-signing": "fapi2_message_signing" };
/** The key type of each algorithm, and the suffix of the file's name. */
const algorithms = {
  ES256: { type: "ec", options: { namedCurve: "P-256" }, suffix: "" },
  PS256: { type: "rsa", options: { modulusLength: 2048 }, suffix: "-PS256" },
};
const { server, browser } = JSON.parse(readFileSync(".op/suite.json", "utf8"));

for (const [title, profile] of Object.entries(profiles)) {
  for (const [authentication, members] of Object.entries(authentications)) {
    for (const [sender, bound] of Object.entries(senders)) {
      for (const [alg, { suffix }] of Object.entries(algorithms)) {
        const clients = {};
        for (const name of names) clients[name] = await register(profile, alg, { ...members(name), ...bound });
        const description = `Edge OP, ${title}, ${authentication}, ${sender}, ${alg}`;
        const certificates = { mtls: certificate("client"), mtls2: certificate("client2") };
        const rest = { resource: { resourceUrl }, browser, override: overrides() };
        const configuration = { alias: ALIAS, description, server, ...clients, ...certificates, ...rest };
        const file = `.op/fapi2-${prefix}${title}-${authentication}-${sender}${suffix}.json`;
        writeFileSync(file, JSON.stringify(configuration, null, 2));
      }
    }
  }
}

/** A client with its own key for assertions and request objects; the provider signs with the same algorithm for it. */
async function register(profile, alg, members) {
  const { type, options } = algorithms[alg];
  const { publicKey, privateKey } = generateKeyPairSync(type, options);
  const use = { kid: "suite", use: "sig", alg };
  const body = {
    ...{ client_name: "Conformance suite", security_profile: profile, ...members, scope, audiences },
    ...{ grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] },
    redirect_uris: [callback, `${callback}?dummy1=lorem&dummy2=ipsum`],
    ...{ id_token_signed_response_alg: alg, authorization_signed_response_alg: alg },
    ...{ introspection_signed_response_alg: alg, access_token_signed_response_alg: alg },
    jwks: { keys: [{ ...publicKey.export({ format: "jwk" }), ...use }] },
  };
  const headers = { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" };
  const response = await fetch(`${ISSUER}/admin/clients`, { method: "POST", headers, body: JSON.stringify(body) });
  const created = await response.json();
  if (response.status !== 201) throw new Error(`${response.status} ${JSON.stringify(created)}`);
  const jwks = { keys: [{ ...privateKey.export({ format: "jwk" }), ...use }] };
  return { client_id: created.client_id, scope, jwks, dpop_signing_alg: alg };
}

/** Modules in which the person acts differently: cancels, or only sees the first page, whose screenshot counts. */
function overrides() {
  const [authorization, ...others] = browser;
  const [signIn, ...later] = authorization.tasks;
  const withCommands = (commands) => ({ ...signIn, commands });
  const [wait, ...typing] = signIn.commands;
  const screenshot = [...wait, ".*", "update-image-placeholder-optional"];
  const cancelled = { ...authorization, tasks: [withCommands([["click", "id", "cancel"]]), ...later] };
  const seen = { ...authorization, "match-limit": 1, tasks: [withCommands([screenshot])] };
  const signedIn = { ...authorization, tasks: [withCommands(typing), ...later] };
  const reuse = "par-ensure-reused-request-uri-prior-to-auth-completion-succeeds";
  return {
    "fapi2-security-profile-final-user-rejects-authentication": { browser: [cancelled, ...others] },
    [`fapi2-security-profile-final-${reuse}`]: { browser: [seen, signedIn, ...others] },
  };
}

function certificate(name) {
  const read = (file) => readFileSync(file, "utf8");
  return { cert: read(`.op/mtls-${name}.crt`), key: read(`.op/mtls-${name}.key`), ca: read(".op/ca.crt") };
}
