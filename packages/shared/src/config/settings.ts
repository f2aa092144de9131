import { signingAlgorithms } from "@edge-op/protocol/jwt/signing-algorithms";
import { parseAuthorizationTypes } from "./authorization-types.ts";
import { clientRegistrationPolicies, parseStatementIssuers } from "./client-registration.ts";
import { documentPolicies, parseHostPolicies } from "./document-policies.ts";
import { hintsWithin, jurisdictions, locationHints } from "./object-locations.ts";
import { securityProfiles } from "./security-profiles.ts";
import { flag, oneOf, readAll, required, type SettingsOf, setting, type VariablesOf, wholeNumber } from "./setting.ts";

/** Longest lifetime of an access or ID token, for every client. Key retirement and the expiry of cut-offs depend on it. */
export const longestTokenLifetimeSeconds = 86_400;

/** Longest life of a refresh family, and so of a grant: cut-offs and generations outlive it. */
export const longestRefreshTokenLifetimeSeconds = 365 * 86_400;

/**
 * **The settings of a deployment**: variables of every Worker (`[vars]` in its wrangler file); all Workers are given the same values. Each has a default that
 * is safe in production, except `ISSUER`, which is required: it is never derived from a request.
 */
export const workerSettings = {
  /** No trailing slash; compared byte for byte. */
  issuer: required("ISSUER", {
    accepts: "an origin (`https://op.example.com`); http on localhost only",
    meaning:
      "Required. The issuer identifier, and the base of every URL that the provider names. Never derived from a request. No path and no trailing slash.",
    parse: parseOrigin,
  }),
  revocationMode: oneOf("REVOCATION_MODE", ["direct", "strict", "bounded"], {
    default: "strict",
    meaning:
      "How a revocation comes into force: `strict` when the call has been answered, by leases; `direct` when the call has been answered, by one object call for each request; `bounded` at most `LEASE_MS` after it. See [choosing a mode](../operating/confirmed-writes.md#choose-a-mode).",
  }),
  /** 0 in `direct`. */
  leaseMs: wholeNumber("LEASE_MS", {
    default: 1000,
    min: 100,
    max: 10_000,
    unit: "milliseconds",
    meaning:
      "Length of a lease (L in [protocols §2](protocols.md#2-revocation)): what a revocation waits for when an isolate does not confirm it. Not used in `direct`.",
  }),
  accessTokenLifetimeSeconds: wholeNumber("ACCESS_TOKEN_LIFETIME", {
    default: 3600,
    min: 1,
    max: longestTokenLifetimeSeconds,
    unit: "seconds",
    meaning: "Lifetime of an access token. `access_token_lifetime` of a client overrides it.",
  }),
  idTokenLifetimeSeconds: wholeNumber("ID_TOKEN_LIFETIME", {
    default: 3600,
    min: 1,
    max: longestTokenLifetimeSeconds,
    unit: "seconds",
    meaning: "Lifetime of an ID token.",
  }),
  accessTokenAlgorithm: oneOf("ACCESS_TOKEN_ALG", signingAlgorithms, {
    default: "ES256",
    meaning: "Signature of access tokens. `access_token_signed_response_alg` of a client overrides it.",
  }),
  idTokenAlgorithm: oneOf("ID_TOKEN_ALG", signingAlgorithms, {
    default: "RS256",
    meaning: "Signature of ID tokens and logout tokens. `id_token_signed_response_alg` of a client overrides it.",
  }),
  refreshTokenLifetimeSeconds: wholeNumber("REFRESH_TOKEN_LIFETIME", {
    default: 30 * 86_400,
    min: 60,
    max: longestRefreshTokenLifetimeSeconds,
    unit: "seconds",
    meaning: "Lifetime of a refresh family, counted from its grant: rotation does not extend it.",
  }),
  refreshGraceSeconds: wholeNumber("REFRESH_GRACE", {
    default: 30,
    min: 0,
    max: 300,
    unit: "seconds",
    meaning:
      "How long a spent refresh token may be sent again and gets the same successor (G in [protocols §3](protocols.md#3-refresh-rotation)). 0: a second use is reuse at once.",
  }),
  refreshReplays: wholeNumber("REFRESH_REPLAYS", {
    default: 5,
    min: 0,
    max: 100,
    meaning: "How often it may be sent again within that time (K).",
  }),
  dpopNonces: flag(
    "DPOP_NONCES",
    "Require a nonce of this provider in every DPoP proof (RFC 9449 §8): a proof made in advance is of no use later. Costs clients a second request for the first nonce. `dpop_nonce_required` of a client requires it for that client alone.",
  ),
  dpopSingleUse: oneOf("DPOP_SINGLE_USE", ["everywhere", "isolate"], {
    default: "everywhere",
    meaning:
      "Where a DPoP proof is accepted only once (RFC 9449 §11.1): `everywhere` costs one object call for each request with a proof; `isolate` costs none, and does not notice a proof that is sent to another isolate within a minute.",
  }),
  securityProfile: oneOf("SECURITY_PROFILE", securityProfiles, {
    default: "none",
    meaning:
      "`fapi2`: clients must meet the FAPI 2.0 Security Profile; `fapi2_message_signing`: with signed requests and responses too. A client that does not is refused. `security_profile` of a client overrides it. Read [FAPI 2.0](../operating/fapi.md) before it is switched on.",
  }),
  mtlsOrigin: setting("MTLS_ORIGIN", {
    accepts: "an origin (`https://mtls.op.example.com`)",
    meaning:
      "The origin at which TLS clients are asked for a certificate, for `mtls_endpoint_aliases` (RFC 8705 §5). Absent: the issuer's own origin asks for certificates, or none does. See [mutual TLS](../operating/mutual-tls.md).",
    parse: parseOrigin,
  }),
  mtlsProxyKeyHashes: setting("MTLS_PROXY_KEY_SHA256", {
    default: "",
    accepts: "SHA-256 hashes in lower-case hexadecimal, separated by spaces",
    meaning:
      "A proxy that terminates TLS and sends the header `Client-Cert` (RFC 9440) is trusted if its header `Client-Cert-Proxy-Key` is a key with one of these hashes. Absent: only the certificate that Cloudflare verified counts. See [mutual TLS](../operating/mutual-tls.md).",
    parse: parseHashes,
  }),
  deviceCodeLifetimeSeconds: wholeNumber("DEVICE_CODE_LIFETIME", {
    default: 600,
    min: 60,
    max: 1800,
    unit: "seconds",
    meaning:
      "Lifetime of a device code and its user code (RFC 8628 §3.2): the time in which a person must type the code, sign in and decide.",
  }),
  devicePollSeconds: wholeNumber("DEVICE_POLL_INTERVAL", {
    default: 5,
    min: 1,
    max: 60,
    unit: "seconds",
    meaning:
      "How long a device waits between two polls at `/token` (RFC 8628 §3.5). A poll costs one object call and no write; one that comes earlier is `slow_down`.",
  }),
  authorizationTypes: setting("AUTHORIZATION_DETAILS_TYPES", {
    default: "{}",
    accepts: "a JSON object",
    meaning:
      'Types of `authorization_details` (RFC 9396): `{"payment": {"schema": {…}, "description": {"en": "…", "de": "…"}}}`. `schema` is a JSON Schema (2020-12) of the object; `description` is shown at consent, and so is the `title` of a property. People decide about each request, unless `"remember": true` lets a consent for the same object count again. A client may request the types in its `authorization_details_types`. See [authorization details](../operating/authorization-details.md).',
    parse: parseAuthorizationTypes,
  }),
  introspectionCache: flag(
    "INTROSPECTION_CACHE",
    "Keep active introspection responses in KV for 60 seconds. Revocation is checked all the same. Costs one KV read for each request.",
  ),
  serverTiming: flag(
    "SERVER_TIMING",
    "Report the object, KV and D1 calls of each request in the response header [`Server-Timing`](endpoints.md#server-timing).",
  ),
  requestLogPercent: wholeNumber("REQUEST_LOG_PERCENT", {
    default: 10,
    min: 0,
    max: 100,
    meaning:
      "Percentage of successful requests that write the log line [`request`](log-events.md): below 100, at most 10 lines a second in each isolate. A request that is not successful always writes it.",
  }),
  auditRetentionDays: wholeNumber("AUDIT_RETENTION_DAYS", {
    default: 365,
    min: 1,
    max: 3650,
    meaning:
      "How many days the [audit log](../operating/audit.md) keeps an event. Older ones are deleted, after they were exported if the deployment exports.",
  }),
  auditTokensPerMinute: wholeNumber("AUDIT_TOKENS_PER_MINUTE", {
    default: 60,
    min: 0,
    max: 6000,
    meaning:
      "How many token responses a minute, in the whole deployment, the audit log records as `token.issued`; others are counted. The redemption of an authorization code is always recorded. 0: none.",
  }),
  /** See http/client-address.ts. */
  trustForwardedHeaders: flag(
    "TRUST_FORWARDED_HEADERS",
    "Take a caller's address from `X-Forwarded-For` of a proxy in front. Only where nobody else can reach the Workers.",
  ),
  passwordMin: wholeNumber("PASSWORD_MIN", {
    default: 15,
    min: 8,
    max: 64,
    meaning:
      "Characters of a new password. NIST SP 800-63B-4 §3.1.1.2 requires 15 where a password alone signs in; passkeys are another way to sign in, not a second factor beside the password. Passwords that are shorter go on working until they are changed.",
  }),
  clientDocuments: oneOf("CLIENT_DOCUMENTS", documentPolicies, {
    default: "deny",
    meaning:
      "Clients that nobody registered, whose `client_id` is the URL of a [metadata document](../operating/agents.md): `deny`: refused; `ask`: people are asked at each request; `allow`: what people agreed to is remembered, as for registered clients.",
  }),
  clientDocumentHosts: setting("CLIENT_DOCUMENT_HOSTS", {
    default: "",
    accepts: "`<policy>=<host>`, separated by spaces; `*.` before a host for all below it",
    meaning:
      "Exceptions from `CLIENT_DOCUMENTS` for hosts of documents that no administrator has named (`/admin/client-document-hosts`); the first that names a host counts.",
    parse: parseHostPolicies,
  }),
  clientRegistration: oneOf("CLIENT_REGISTRATION", clientRegistrationPolicies, {
    default: "off",
    meaning:
      "Who may register clients at `/register` (RFC 7591): `off`: nobody; `token`: who has an initial access token or a software statement of a trusted issuer; `open`: everyone. See [agents](../operating/agents.md#registration).",
  }),
  softwareStatementIssuers: setting("SOFTWARE_STATEMENT_ISSUERS", {
    default: "",
    accepts: "`<issuer>=<jwks_uri>`, separated by spaces",
    meaning:
      "The issuers whose software statements are accepted at registration (RFC 7591 §2.3), and their keys; for issuers that have no record in `/admin/issuers`, whose rules decide.",
    parse: parseStatementIssuers,
  }),
  clientUnusedSeconds: wholeNumber("CLIENT_UNUSED_LIFETIME", {
    default: 86_400,
    min: 1,
    max: 365 * 86_400,
    unit: "seconds",
    meaning: "When a client that registered itself is deleted if nobody has agreed to its use.",
  }),
  clientIdleSeconds: wholeNumber("CLIENT_IDLE_LIFETIME", {
    default: 90 * 86_400,
    min: 86_400,
    max: 3650 * 86_400,
    unit: "seconds",
    meaning: "When a client that registered itself, or is known by a metadata document, is deleted after its last use.",
  }),
  region: oneOf("REGION", locationHints, {
    default: "wnam",
    meaning:
      "The location hint with which `KeyManager`, `ControlPlane`, the first generation of shards and the database are created. Has no effect on what exists ([regions](../operating/deploy.md#regions)).",
  }),
  jurisdiction: oneOf("JURISDICTION", jurisdictions, {
    default: "none",
    meaning:
      "`eu`: objects and the database are created in the European Union and stay there, and nothing is copied to KV. Chosen at the first deployment, and never changed ([regions](../operating/deploy.md#regions)).",
  }),
};

export type Settings = SettingsOf<typeof workerSettings>;
export type RevocationMode = Settings["revocationMode"];
export type SettingsVariables = VariablesOf<typeof workerSettings> & { readonly ISSUER: string };

function parseOrigin(name: string, text: string): string {
  if (!URL.canParse(text)) throw new Error(`${name} must be an origin`);
  const url = new URL(text);
  const local = url.hostname === "localhost" || url.hostname === "127.0.0.1" || url.hostname === "[::1]";
  if (url.protocol !== "https:" && !(local && url.protocol === "http:")) {
    throw new Error(`${name} must be https, except on localhost`);
  }
  if (text !== url.origin) {
    throw new Error(`${name} must be an origin: scheme, host and port in lower case, no path and no trailing slash`);
  }
  return text;
}

function parseHashes(name: string, text: string): readonly string[] {
  const hashes = text.split(" ").filter((hash) => hash !== "");
  if (!hashes.every((hash) => /^[0-9a-f]{64}$/.test(hash)))
    throw new Error(`${name} must be SHA-256 hashes in hexadecimal`);
  return hashes;
}

const known = new WeakMap<object, Settings>();

/** Reads and checks the settings once per isolate. Throws `Error` naming the variable: a deployment mistake, not a caller's. */
export function readSettings(env: SettingsVariables): Settings {
  const cached = known.get(env);
  if (cached !== undefined) return cached;
  const settings = parseSettings(env);
  known.set(env, settings);
  return settings;
}

function parseSettings(env: SettingsVariables): Settings {
  const settings = readAll(workerSettings, env);
  const { region, jurisdiction, revocationMode } = settings;
  const hints = hintsWithin[jurisdiction];
  if (!hints.includes(region)) {
    throw new Error(`REGION must be one of ${hints.join(", ")} in JURISDICTION ${jurisdiction}, not "${region}"`);
  }
  return revocationMode === "direct" ? { ...settings, leaseMs: 0 } : settings;
}
