import { type SigningAlgorithm, signingAlgorithms } from "@edge-op/protocol/jwt/signing-algorithms";
import { type AuthorizationTypes, parseAuthorizationTypes } from "./authorization-types.ts";
import {
  type ClientRegistrationPolicy,
  clientRegistrationPolicies,
  parseStatementIssuers,
  type StatementIssuer,
} from "./client-registration.ts";
import { type DocumentPolicy, documentPolicies, type HostPolicy, parseHostPolicies } from "./document-policies.ts";
import { hintsWithin, type Jurisdiction, jurisdictions, type LocationHint, locationHints } from "./object-locations.ts";
import { type SecurityProfile, securityProfiles } from "./security-profiles.ts";
import { flag, oneOf, readSetting, type Setting, type SettingWithDefault, wholeNumber } from "./setting.ts";

/**
 * **The settings of a deployment, parsed once.** Every Worker reads the same variables. Each has a default that is safe in
 * production, except `ISSUER`, which is required: it is never derived from a request.
 */
export type RevocationMode = "direct" | "strict" | "bounded";

export interface Settings {
  /** No trailing slash; compared byte for byte. */
  readonly issuer: string;
  readonly revocationMode: RevocationMode;
  /** Lease length L in milliseconds; 0 in `direct`. */
  readonly leaseMs: number;
  /** Show object, KV and D1 calls of each request as `Server-Timing`. */
  readonly serverTiming: boolean;
  readonly accessTokenLifetimeSeconds: number;
  readonly idTokenLifetimeSeconds: number;
  readonly accessTokenAlgorithm: SigningAlgorithm;
  readonly idTokenAlgorithm: SigningAlgorithm;
  readonly introspectionCache: boolean;
  readonly refreshGraceSeconds: number;
  readonly refreshReplays: number;
  readonly refreshTokenLifetimeSeconds: number;
  /** Percentage of successful requests that are logged; every error is. */
  readonly requestLogPercent: number;
  /** Audit events are deleted when they are older. */
  readonly auditRetentionDays: number;
  /** How many issued tokens a minute become audit events. */
  readonly auditTokensPerMinute: number;
  /** Use `X-Forwarded-For` of a proxy in front (http/client-address.ts); only where nothing else can reach the Workers. */
  readonly trustForwardedHeaders: boolean;
  /** Characters of a new password. */
  readonly passwordMin: number;
  /** Where `KeyManager`, `ControlPlane` and objects of regions without a hint are created. */
  readonly region: LocationHint;
  /** Objects are addressed within it. KV has no jurisdiction: with one, nothing is copied to KV. */
  readonly jurisdiction: Jurisdiction;
  /** Every DPoP proof must contain a nonce of this provider. */
  readonly dpopNonces: boolean;
  /** Where the single use of a DPoP proof is enforced. */
  readonly dpopSingleUse: DpopSingleUse;
  /** The rules that requests of clients must meet that name none themselves. */
  readonly securityProfile: SecurityProfile;
  /** Hashes of the keys of proxies that terminate TLS and pass the client's certificate on: SHA-256, hexadecimal. */
  readonly mtlsProxyKeyHashes: readonly string[];
  /** The origin at which TLS clients are asked for a certificate; `undefined` if there is none. */
  readonly mtlsOrigin: string | undefined;
  /** Lifetime of a device code and of its user code. */
  readonly deviceCodeLifetimeSeconds: number;
  /** The interval at which a device may poll. */
  readonly devicePollSeconds: number;
  /** The types of authorization details (RFC 9396) that clients may be registered for. */
  readonly authorizationTypes: AuthorizationTypes;
  /** Whether clients may be known by a metadata document alone, and which hosts are exceptions. */
  readonly clientDocuments: DocumentPolicy;
  readonly clientDocumentHosts: readonly HostPolicy[];
  /** Who may register clients at `/register`. */
  readonly clientRegistration: ClientRegistrationPolicy;
  readonly softwareStatementIssuers: readonly StatementIssuer[];
  /** After this time a client that nobody has used, or that is used no more, is deleted if no administrator registered it. */
  readonly clientUnusedSeconds: number;
  readonly clientIdleSeconds: number;
}

export type DpopSingleUse = "everywhere" | "isolate";

/** Longest lifetime of an access or ID token, for every client. Key retirement and the expiry of cut-offs depend on it. */
export const longestTokenLifetimeSeconds = 86_400;

/** Longest life of a refresh family, and so of a grant: cut-offs and generations outlive it. */
export const longestRefreshTokenLifetimeSeconds = 365 * 86_400;

/** The variables of every Worker (`[vars]` in its wrangler file), described; all Workers are given the same values. */
export const settingDefinitions = {
  ISSUER: {
    accepts: "an origin (`https://op.example.com`); http on localhost only",
    meaning:
      "Required. The issuer identifier, and the base of every URL that the provider names. Never derived from a request. No path and no trailing slash.",
    parse: parseIssuer,
  },
  REVOCATION_MODE: oneOf<RevocationMode>(["direct", "strict", "bounded"], {
    default: "strict",
    meaning:
      "How a revocation comes into force: `strict` when the call has been answered, by leases; `direct` when the call has been answered, by one object call for each request; `bounded` at most `LEASE_MS` after it. See [choosing a mode](../operating/choosing-a-mode.md).",
  }),
  LEASE_MS: wholeNumber({
    default: 1000,
    min: 100,
    max: 10_000,
    unit: "milliseconds",
    meaning:
      "Length of a lease (L in [protocols §2](protocols.md#2-revocation)): what a revocation waits for when an isolate does not confirm it. Not used in `direct`.",
  }),
  ACCESS_TOKEN_LIFETIME: wholeNumber({
    default: 3600,
    min: 1,
    max: longestTokenLifetimeSeconds,
    unit: "seconds",
    meaning: "Lifetime of an access token. `access_token_lifetime` of a client overrides it.",
  }),
  ID_TOKEN_LIFETIME: wholeNumber({
    default: 3600,
    min: 1,
    max: longestTokenLifetimeSeconds,
    unit: "seconds",
    meaning: "Lifetime of an ID token.",
  }),
  ACCESS_TOKEN_ALG: oneOf<SigningAlgorithm>(signingAlgorithms, {
    default: "ES256",
    meaning: "Signature of access tokens. `access_token_signed_response_alg` of a client overrides it.",
  }),
  ID_TOKEN_ALG: oneOf<SigningAlgorithm>(signingAlgorithms, {
    default: "RS256",
    meaning: "Signature of ID tokens and logout tokens. `id_token_signed_response_alg` of a client overrides it.",
  }),
  REFRESH_TOKEN_LIFETIME: wholeNumber({
    default: 30 * 86_400,
    min: 60,
    max: longestRefreshTokenLifetimeSeconds,
    unit: "seconds",
    meaning: "Lifetime of a refresh family, counted from its grant: rotation does not extend it.",
  }),
  REFRESH_GRACE: wholeNumber({
    default: 30,
    min: 0,
    max: 300,
    unit: "seconds",
    meaning:
      "How long a spent refresh token may be sent again and gets the same successor (G in [protocols §3](protocols.md#3-refresh-rotation)). 0: a second use is reuse at once.",
  }),
  REFRESH_REPLAYS: wholeNumber({
    default: 5,
    min: 0,
    max: 100,
    meaning: "How often it may be sent again within that time (K).",
  }),
  DPOP_NONCES: flag(
    "Require a nonce of this provider in every DPoP proof (RFC 9449 §8): a proof made in advance is of no use later. Costs clients a second request for the first nonce. `dpop_nonce_required` of a client requires it for that client alone.",
  ),
  DPOP_SINGLE_USE: oneOf<DpopSingleUse>(["everywhere", "isolate"], {
    default: "everywhere",
    meaning:
      "Where a DPoP proof is accepted only once (RFC 9449 §11.1): `everywhere` costs one object call for each request with a proof; `isolate` costs none, and does not notice a proof that is sent to another isolate within a minute.",
  }),
  SECURITY_PROFILE: oneOf<SecurityProfile>(securityProfiles, {
    default: "none",
    meaning:
      "`fapi2`: clients must meet the FAPI 2.0 Security Profile; `fapi2_message_signing`: with signed requests and responses too. A client that does not is refused. `security_profile` of a client overrides it. Read [FAPI 2.0](../operating/fapi.md) before it is switched on.",
  }),
  MTLS_ORIGIN: {
    accepts: "an origin (`https://mtls.op.example.com`)",
    meaning:
      "The origin at which TLS clients are asked for a certificate, for `mtls_endpoint_aliases` (RFC 8705 §5). Absent: the issuer's own origin asks for certificates, or none does. See [mutual TLS](../operating/mutual-tls.md).",
    parse: parseOrigin,
  } satisfies Setting<string>,
  MTLS_PROXY_KEY_SHA256: {
    default: "",
    accepts: "SHA-256 hashes in lower-case hexadecimal, separated by spaces",
    meaning:
      "A proxy that terminates TLS and sends the header `Client-Cert` (RFC 9440) is trusted if its header `Client-Cert-Proxy-Key` is a key with one of these hashes. Absent: only the certificate that Cloudflare verified counts. See [mutual TLS](../operating/mutual-tls.md).",
    parse: parseHashes,
  } satisfies SettingWithDefault<readonly string[]>,
  DEVICE_CODE_LIFETIME: wholeNumber({
    default: 600,
    min: 60,
    max: 1800,
    unit: "seconds",
    meaning:
      "Lifetime of a device code and its user code (RFC 8628 §3.2): the time in which a person must type the code, sign in and decide.",
  }),
  DEVICE_POLL_INTERVAL: wholeNumber({
    default: 5,
    min: 1,
    max: 60,
    unit: "seconds",
    meaning:
      "How long a device waits between two polls at `/token` (RFC 8628 §3.5). A poll costs one object call and no write; one that comes earlier is `slow_down`.",
  }),
  AUTHORIZATION_DETAILS_TYPES: {
    default: "{}",
    accepts: "a JSON object",
    meaning:
      'Types of `authorization_details` (RFC 9396): `{"payment": {"schema": {…}, "description": {"en": "…", "de": "…"}}}`. `schema` is a JSON Schema (2020-12) of the object; `description` is shown at consent, and so is the `title` of a property. People decide about each request, unless `"remember": true` lets a consent for the same object count again. A client may request the types in its `authorization_details_types`. See [authorization details](../operating/authorization-details.md).',
    parse: parseAuthorizationTypes,
  } satisfies SettingWithDefault<AuthorizationTypes>,
  INTROSPECTION_CACHE: flag(
    "Keep active introspection responses in KV for 60 seconds. Revocation is checked all the same. Costs one KV read for each request.",
  ),
  SERVER_TIMING: flag(
    "Report the object, KV and D1 calls of each request in the response header [`Server-Timing`](server-timing.md).",
  ),
  REQUEST_LOG_PERCENT: wholeNumber({
    default: 10,
    min: 0,
    max: 100,
    meaning:
      "Percentage of successful requests that write the log line [`request`](log-events.md): below 100, at most 10 lines a second in each isolate. A request that is not successful always writes it.",
  }),
  AUDIT_RETENTION_DAYS: wholeNumber({
    default: 365,
    min: 1,
    max: 3650,
    meaning:
      "How many days the [audit log](../operating/audit.md) keeps an event. Older ones are deleted, after they were exported if the deployment exports.",
  }),
  AUDIT_TOKENS_PER_MINUTE: wholeNumber({
    default: 60,
    min: 0,
    max: 6000,
    meaning:
      "How many token responses a minute, in the whole deployment, the audit log records as `token.issued`; others are counted. The redemption of an authorization code is always recorded. 0: none.",
  }),
  TRUST_FORWARDED_HEADERS: flag(
    "Take a caller's address from `X-Forwarded-For` of a proxy in front. Only where nobody else can reach the Workers.",
  ),
  PASSWORD_MIN: wholeNumber({
    default: 15,
    min: 8,
    max: 64,
    meaning:
      "Characters of a new password. NIST SP 800-63B-4 §3.1.1.2 requires 15 where a password alone signs in; passkeys are another way to sign in, not a second factor beside the password. Passwords that are shorter go on working until they are changed.",
  }),
  CLIENT_DOCUMENTS: oneOf<DocumentPolicy>(documentPolicies, {
    default: "deny",
    meaning:
      "Clients that nobody registered, whose `client_id` is the URL of a [metadata document](../operating/agents.md): `deny`: refused; `ask`: people are asked at each request; `allow`: what people agreed to is remembered, as for registered clients.",
  }),
  CLIENT_DOCUMENT_HOSTS: {
    default: "",
    accepts: "`<policy>=<host>`, separated by spaces; `*.` before a host for all below it",
    meaning:
      "Exceptions from `CLIENT_DOCUMENTS` for hosts of documents that no administrator has named (`/admin/client-document-hosts`); the first that names a host counts.",
    parse: parseHostPolicies,
  } satisfies SettingWithDefault<readonly HostPolicy[]>,
  CLIENT_REGISTRATION: oneOf<ClientRegistrationPolicy>(clientRegistrationPolicies, {
    default: "off",
    meaning:
      "Who may register clients at `/register` (RFC 7591): `off`: nobody; `token`: who has an initial access token or a software statement of a trusted issuer; `open`: everyone. See [agents](../operating/agents.md#registration).",
  }),
  SOFTWARE_STATEMENT_ISSUERS: {
    default: "",
    accepts: "`<issuer>=<jwks_uri>`, separated by spaces",
    meaning:
      "The issuers whose software statements are accepted at registration (RFC 7591 §2.3), and their keys; for issuers that have no record in `/admin/issuers`, whose rules decide.",
    parse: parseStatementIssuers,
  } satisfies SettingWithDefault<readonly StatementIssuer[]>,
  CLIENT_UNUSED_LIFETIME: wholeNumber({
    default: 86_400,
    min: 1,
    max: 365 * 86_400,
    unit: "seconds",
    meaning: "When a client that registered itself is deleted if nobody has agreed to its use.",
  }),
  CLIENT_IDLE_LIFETIME: wholeNumber({
    default: 90 * 86_400,
    min: 86_400,
    max: 3650 * 86_400,
    unit: "seconds",
    meaning: "When a client that registered itself, or is known by a metadata document, is deleted after its last use.",
  }),
  REGION: oneOf<LocationHint>(locationHints, {
    default: "wnam",
    meaning:
      "The location hint with which `KeyManager`, `ControlPlane`, the first generation of shards and the database are created. Has no effect on what exists ([regions](../operating/deploy.md#regions)).",
  }),
  JURISDICTION: oneOf<Jurisdiction>(jurisdictions, {
    default: "none",
    meaning:
      "`eu`: objects and the database are created in the European Union and stay there, and nothing is copied to KV. Chosen at the first deployment, and never changed ([regions](../operating/deploy.md#regions)).",
  }),
};

type SettingName = keyof typeof settingDefinitions;

export type SettingsVariables = { readonly ISSUER: string } & {
  readonly [Name in Exclude<SettingName, "ISSUER">]?: string;
};

function parseIssuer(_name: string, text: string): string {
  if (!URL.canParse(text)) throw missingIssuer();
  return parseOrigin("ISSUER", text);
}

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

function missingIssuer(): Error {
  return new Error("ISSUER must be the absolute URL of this provider");
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
  const all = settingDefinitions;
  const issuer = readSetting("ISSUER", all.ISSUER, env.ISSUER);
  if (issuer === undefined) throw missingIssuer();
  const revocationMode = readSetting("REVOCATION_MODE", all.REVOCATION_MODE, env.REVOCATION_MODE);
  const seconds = (name: LifetimeName) => readSetting(name, all[name], env[name]);
  const region = readSetting("REGION", all.REGION, env.REGION);
  const jurisdiction = readSetting("JURISDICTION", all.JURISDICTION, env.JURISDICTION);
  if (!hintsWithin[jurisdiction].includes(region)) {
    throw new Error(
      `REGION must be one of ${hintsWithin[jurisdiction].join(", ")} in JURISDICTION ${jurisdiction}, not "${region}"`,
    );
  }
  return {
    issuer,
    revocationMode,
    leaseMs: revocationMode === "direct" ? 0 : readSetting("LEASE_MS", all.LEASE_MS, env.LEASE_MS),
    serverTiming: readSetting("SERVER_TIMING", all.SERVER_TIMING, env.SERVER_TIMING),
    accessTokenLifetimeSeconds: seconds("ACCESS_TOKEN_LIFETIME"),
    idTokenLifetimeSeconds: seconds("ID_TOKEN_LIFETIME"),
    accessTokenAlgorithm: readSetting("ACCESS_TOKEN_ALG", all.ACCESS_TOKEN_ALG, env.ACCESS_TOKEN_ALG),
    idTokenAlgorithm: readSetting("ID_TOKEN_ALG", all.ID_TOKEN_ALG, env.ID_TOKEN_ALG),
    introspectionCache: readSetting("INTROSPECTION_CACHE", all.INTROSPECTION_CACHE, env.INTROSPECTION_CACHE),
    refreshGraceSeconds: seconds("REFRESH_GRACE"),
    refreshReplays: readSetting("REFRESH_REPLAYS", all.REFRESH_REPLAYS, env.REFRESH_REPLAYS),
    refreshTokenLifetimeSeconds: seconds("REFRESH_TOKEN_LIFETIME"),
    requestLogPercent: readSetting("REQUEST_LOG_PERCENT", all.REQUEST_LOG_PERCENT, env.REQUEST_LOG_PERCENT),
    auditRetentionDays: readSetting("AUDIT_RETENTION_DAYS", all.AUDIT_RETENTION_DAYS, env.AUDIT_RETENTION_DAYS),
    auditTokensPerMinute: readSetting(
      "AUDIT_TOKENS_PER_MINUTE",
      all.AUDIT_TOKENS_PER_MINUTE,
      env.AUDIT_TOKENS_PER_MINUTE,
    ),
    trustForwardedHeaders: readSetting(
      "TRUST_FORWARDED_HEADERS",
      all.TRUST_FORWARDED_HEADERS,
      env.TRUST_FORWARDED_HEADERS,
    ),
    region,
    jurisdiction,
    passwordMin: readSetting("PASSWORD_MIN", all.PASSWORD_MIN, env.PASSWORD_MIN),
    dpopNonces: readSetting("DPOP_NONCES", all.DPOP_NONCES, env.DPOP_NONCES),
    dpopSingleUse: readSetting("DPOP_SINGLE_USE", all.DPOP_SINGLE_USE, env.DPOP_SINGLE_USE),
    securityProfile: readSetting("SECURITY_PROFILE", all.SECURITY_PROFILE, env.SECURITY_PROFILE),
    mtlsProxyKeyHashes: readSetting("MTLS_PROXY_KEY_SHA256", all.MTLS_PROXY_KEY_SHA256, env.MTLS_PROXY_KEY_SHA256),
    mtlsOrigin: readSetting("MTLS_ORIGIN", all.MTLS_ORIGIN, env.MTLS_ORIGIN),
    deviceCodeLifetimeSeconds: seconds("DEVICE_CODE_LIFETIME"),
    devicePollSeconds: seconds("DEVICE_POLL_INTERVAL"),
    authorizationTypes: readSetting(
      "AUTHORIZATION_DETAILS_TYPES",
      all.AUTHORIZATION_DETAILS_TYPES,
      env.AUTHORIZATION_DETAILS_TYPES,
    ),
    clientDocuments: readSetting("CLIENT_DOCUMENTS", all.CLIENT_DOCUMENTS, env.CLIENT_DOCUMENTS),
    clientDocumentHosts: readSetting("CLIENT_DOCUMENT_HOSTS", all.CLIENT_DOCUMENT_HOSTS, env.CLIENT_DOCUMENT_HOSTS),
    clientRegistration: readSetting("CLIENT_REGISTRATION", all.CLIENT_REGISTRATION, env.CLIENT_REGISTRATION),
    softwareStatementIssuers: readSetting(
      "SOFTWARE_STATEMENT_ISSUERS",
      all.SOFTWARE_STATEMENT_ISSUERS,
      env.SOFTWARE_STATEMENT_ISSUERS,
    ),
    clientUnusedSeconds: seconds("CLIENT_UNUSED_LIFETIME"),
    clientIdleSeconds: seconds("CLIENT_IDLE_LIFETIME"),
  };
}

type LifetimeName =
  | "CLIENT_UNUSED_LIFETIME"
  | "CLIENT_IDLE_LIFETIME"
  | "ACCESS_TOKEN_LIFETIME"
  | "ID_TOKEN_LIFETIME"
  | "REFRESH_GRACE"
  | "REFRESH_TOKEN_LIFETIME"
  | "DEVICE_CODE_LIFETIME"
  | "DEVICE_POLL_INTERVAL";
