import { signingAlgorithms } from "@edge-op/protocol/jwt/signing-algorithms";
import { legalSettings } from "./legal-settings.ts";
import { flag, oneOf, readAll, required, type SettingsOf, setting, type VariablesOf, wholeNumber } from "./setting.ts";
import {
  clientRegistrationPolicies,
  documentPolicies,
  hintsWithin,
  jurisdictions,
  locationHints,
  parseAuthorizationTypes,
  parseEnabledHooks,
  parseHashes,
  parseHostPolicies,
  parseMailAddress,
  parseOrigin,
  parsePrivateUseSchemes,
  parseStatementIssuers,
  securityProfiles,
} from "./setting-values.ts";

/** The maximum lifetime of an access or ID token, for every client. Key retirement and the expiry of cut-offs depend on it. */
export const longestTokenLifetimeSeconds = 86_400;

/** The maximum lifetime of a refresh family, and therefore of a grant: cut-offs and generations outlive it. */
export const longestRefreshTokenLifetimeSeconds = 365 * 86_400;

/** The maximum lifetime of a device code: the first tokens of its grant are issued this much later than the person decided. */
export const longestDeviceCodeSeconds = 1_800;

/** How long a spent refresh token may be sent again: of any client; of one whose tokens are useless without its credential or key. */
export const refreshGraceLimits = { anySeconds: 30, protectedSeconds: 120 } as const;

/**
 * **The settings of a deployment**: variables of every Worker (`[vars]` in its wrangler file); all Workers are given the same values. Each has a
 * default that is safe in production, except `ISSUER`, which is required: it is never derived from a request.
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
      "When a revocation takes effect. `strict`: when the call returns, by leases. `direct`: when the call returns, by one object call for each request. `bounded`: at most `LEASE_MS` after the call. See [choosing a mode](../operating/confirmed-writes.md#choose-a-mode).",
  }),
  /** 0 in `direct`. */
  leaseMs: wholeNumber("LEASE_MS", {
    default: 1000,
    min: 100,
    max: 10_000,
    unit: "milliseconds",
    meaning:
      "Length of a lease (L in [protocols §2](protocols.md#2-revocation)): the time for which a revocation waits if an isolate does not confirm it. Not used in `direct`.",
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
    max: refreshGraceLimits.anySeconds,
    unit: "seconds",
    meaning:
      "How long a spent refresh token may be sent again and returns the same successor (G in [protocols §3](protocols.md#3-refresh-rotation)). 0: any second use counts as reuse. `refresh_token_grace` of a client overrides it, up to 120 seconds.",
  }),
  refreshReplays: wholeNumber("REFRESH_REPLAYS", {
    default: 5,
    min: 0,
    max: 100,
    meaning: "How often a spent refresh token may be sent again within `REFRESH_GRACE` (K).",
  }),
  dpopNonces: flag(
    "DPOP_NONCES",
    "Require a nonce of this provider in every DPoP proof (RFC 9449 §8): a proof made in advance cannot be used later. Clients need a second request for the first nonce. `dpop_nonce_required` of a client requires it only for that client.",
  ),
  dpopSingleUse: oneOf("DPOP_SINGLE_USE", ["everywhere", "isolate"], {
    default: "everywhere",
    meaning:
      "Where a DPoP proof is accepted only once (RFC 9449 §11.1): `everywhere` costs one object call for each request with a proof, and after a loss of the object's memory one retry of each client, with a nonce; `isolate` costs none, but does not detect a proof that is sent to another isolate within a minute.",
  }),
  securityProfile: oneOf("SECURITY_PROFILE", securityProfiles, {
    default: "none",
    meaning:
      "`fapi2`: clients must meet the FAPI 2.0 Security Profile; `fapi2_message_signing`: with signed requests and responses too. Other clients are refused. `security_profile` of a client overrides it. Read [FAPI 2.0](../operating/fapi.md) before you enable it.",
  }),
  mtlsOrigin: setting("MTLS_ORIGIN", {
    accepts: "an origin (`https://mtls.op.example.com`)",
    meaning:
      "The origin that requests certificates from TLS clients, for `mtls_endpoint_aliases` (RFC 8705 §5). Absent: the issuer's own origin requests them, or none does. See [mutual TLS](../operating/mutual-tls.md).",
    parse: parseOrigin,
  }),
  mtlsProxyKeyHashes: setting("MTLS_PROXY_KEY_SHA256", {
    default: "",
    accepts: "SHA-256 hashes in lower-case hexadecimal, separated by spaces",
    meaning:
      "A proxy that terminates TLS and sends the header `Client-Cert` (RFC 9440) is trusted if its header `Client-Cert-Proxy-Key` contains a key with one of these hashes. Absent: only certificates that Cloudflare verified are accepted. See [mutual TLS](../operating/mutual-tls.md).",
    parse: parseHashes,
  }),
  deviceCodeLifetimeSeconds: wholeNumber("DEVICE_CODE_LIFETIME", {
    default: 600,
    min: 60,
    max: longestDeviceCodeSeconds,
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
      "How long a device waits between two polls at `/token` (RFC 8628 §3.5). A poll costs one object call and no write; an earlier poll is refused with `slow_down`.",
  }),
  authorizationTypes: setting("AUTHORIZATION_DETAILS_TYPES", {
    default: "{}",
    accepts: "a JSON object",
    meaning:
      'Types of `authorization_details` (RFC 9396): `{"payment": {"schema": {…}, "description": {"en": "…", "de": "…"}}}`. `schema` is a JSON Schema (2020-12) of the object; `description` and the `title` of each property are shown at consent. Users decide about each request, unless `"remember": true` reuses a consent for the same object. A client may request the types in its `authorization_details_types`. See [authorization details](../operating/authorization-details.md).',
    parse: parseAuthorizationTypes,
  }),
  introspectionCache: flag(
    "INTROSPECTION_CACHE",
    "Keep active introspection responses in KV for 60 seconds. Revocation is still checked. Costs one KV read for each request.",
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
      "Percentage of successful requests that write the log line [`request`](log-events.md): below 100, at most 10 lines a second in each isolate. An unsuccessful request always writes it.",
  }),
  auditRetentionDays: wholeNumber("AUDIT_RETENTION_DAYS", {
    default: 365,
    min: 1,
    max: 3650,
    meaning: "How many days the [audit log](../operating/audit.md) keeps an event. Older events are deleted.",
  }),
  auditRecentDays: wholeNumber("AUDIT_RECENT_DAYS", {
    default: 7,
    min: 0,
    max: 3650,
    meaning:
      "How many days the audit log keeps an event in `AUDIT_DB` before it is moved to the bucket `AUDIT_EXPORT`, if there is one ([the archive](../operating/audit.md#archive)). 0: an hour.",
  }),
  auditTokensPerMinute: wholeNumber("AUDIT_TOKENS_PER_MINUTE", {
    default: 60,
    min: 0,
    max: 6000,
    meaning:
      "The maximum number of token responses per minute, in the whole deployment, that the audit log records as `token.issued`; further ones are only counted. The redemption of an authorization code is always recorded. 0: none.",
  }),
  /** See http/client-address.ts. */
  trustForwardedHeaders: flag(
    "TRUST_FORWARDED_HEADERS",
    "Read a caller's address from the header `X-Forwarded-For` of a proxy in front of the Workers, which may send any `Host`. Enable it only if nobody else can reach the Workers.",
  ),
  passwordMin: wholeNumber("PASSWORD_MIN", {
    default: 15,
    min: 8,
    max: 64,
    meaning:
      "Minimum length of a new password, in characters. NIST SP 800-63B-4 §3.1.1.2 requires 15 where a password alone signs in, and 8 where it is always one of two factors (`MFA=required`); passkeys are another way to sign in, not a second factor in addition to the password. Existing shorter passwords keep working until they are changed.",
  }),
  passwordBreach: oneOf("PASSWORD_BREACH", ["off", "pwned-passwords"], {
    default: "off",
    meaning:
      "Where a new password is looked up among those of data breaches, in addition to the built-in list of common ones. `pwned-passwords`: Have I Been Pwned, which receives five characters of a hash; if it does not respond within 800 ms, the password is accepted.",
  }),
  clientDocuments: oneOf("CLIENT_DOCUMENTS", documentPolicies, {
    default: "deny",
    meaning:
      "Policy for clients that are not registered and whose `client_id` is the URL of a [metadata document](../operating/agents.md). `deny`: they are refused. `ask`: users are asked at each request. `allow`: consent is remembered, as for registered clients.",
  }),
  clientDocumentHosts: setting("CLIENT_DOCUMENT_HOSTS", {
    default: "",
    accepts: "`<policy>=<host>`, separated by spaces; `*.` before a host for all below it",
    meaning:
      "Exceptions from `CLIENT_DOCUMENTS` by the host of the document, for hosts without a policy in `/admin/client-document-hosts`. The first exception that names a host applies.",
    parse: parseHostPolicies,
  }),
  clientRegistration: oneOf("CLIENT_REGISTRATION", clientRegistrationPolicies, {
    default: "off",
    meaning:
      "Who may register clients at `/register` (RFC 7591): `off`: nobody; `token`: clients with an initial access token or a software statement of a trusted issuer; `open`: everyone. See [agents](../operating/agents.md#registration).",
  }),
  softwareStatementIssuers: setting("SOFTWARE_STATEMENT_ISSUERS", {
    default: "",
    accepts: "`<issuer>=<jwks_uri>`, separated by spaces",
    meaning:
      "The issuers whose software statements are accepted at registration (RFC 7591 §2.3), and their keys. For an issuer with a record in `/admin/issuers`, the rules of the record decide instead.",
    parse: parseStatementIssuers,
  }),
  privateUseSchemes: setting("PRIVATE_USE_SCHEMES", {
    default: "",
    accepts:
      "schemes without a dot (`cursor vscode`), separated by spaces; none that browsers or systems handle, such as `javascript`, `data` or `file`",
    meaning:
      "Further private-use schemes of redirect URIs of native applications. A domain name in reverse (`com.example.app`) is always allowed; a scheme without a dot belongs to whichever program claims it, so it is refused unless it is listed here (RFC 8252 §8.4).",
    parse: parsePrivateUseSchemes,
  }),
  clientUnusedSeconds: wholeNumber("CLIENT_UNUSED_LIFETIME", {
    default: 86_400,
    min: 1,
    max: 365 * 86_400,
    unit: "seconds",
    meaning: "The time after which a client that registered itself is deleted if no user has consented to it.",
  }),
  clientIdleSeconds: wholeNumber("CLIENT_IDLE_LIFETIME", {
    default: 90 * 86_400,
    min: 86_400,
    max: 3650 * 86_400,
    unit: "seconds",
    meaning:
      "The time after its last use when a client that registered itself, or is known by a metadata document, is deleted.",
  }),
  signUp: oneOf("SIGN_UP", ["off", "invitation", "open"], {
    default: "off",
    meaning:
      "Who may [create an account](../operating/sign-up.md). `off`: nobody; administrators create users. `invitation`: whom an administrator invites. `open`: everybody who can read the mail of an address, or of an address in `SIGN_UP_DOMAINS`, and whom an administrator invites. The others need `MAIL_PROVIDER`.",
  }),
  passkeyOrigins: setting("PASSKEY_ORIGINS", {
    default: "",
    accepts: "origins (`https://example.org`), separated by spaces",
    meaning:
      "Further origins whose pages may use passkeys of this provider (WebAuthn related origins), listed at `/.well-known/webauthn`. Passkeys belong to the host of `ISSUER`. Empty: none.",
    parse: (name, text): readonly string[] =>
      text
        .split(" ")
        .filter(Boolean)
        .map((each) => parseOrigin(name, each)),
  }),
  deletionGraceDays: wholeNumber("DELETION_GRACE_DAYS", {
    default: 14,
    min: 0,
    max: 90,
    meaning:
      "How many days pass between a person's request to [delete their account](../operating/erase-and-export.md#people-themselves) and its erasure. Until then they can sign in to keep it. 0: people cannot delete their accounts.",
  }),
  ...legalSettings,
  mailProvider: oneOf("MAIL_PROVIDER", ["off", "cloudflare", "resend", "hook"], {
    default: "off",
    meaning:
      "Who sends [mail](../operating/mail.md). `off`: nobody, and people are not told of changes to their accounts. `cloudflare`: Cloudflare Email Sending. `resend`: Resend, with the secret `RESEND_API_KEY`. `hook`: the [hook](../operating/hooks.md) `mail`. The others need `MAIL_FROM`.",
  }),
  mailFrom: setting("MAIL_FROM", {
    accepts: "a mail address (`no-reply@mail.example.com`)",
    meaning: "The sender of mails, at a domain that the provider of mail may send for. Its name is `DISPLAY_NAME`.",
    parse: parseMailAddress,
  }),
  resendOrigin: setting("RESEND_ORIGIN", {
    default: "https://api.resend.com",
    accepts: "an origin",
    meaning: "The origin of Resend's API. Local runs have a mailbox there.",
    parse: parseOrigin,
  }),
  enabledHooks: setting("ENABLED_HOOKS", {
    default: "",
    accepts:
      "`claims`, `beforeSignIn`, `afterSignUp`, `legacyPassword`, separated by spaces; `=open` or `=closed` after the first two",
    meaning:
      "Which [hooks](../operating/hooks.md) of the Worker that is bound as `HOOKS` are called; `MAIL_PROVIDER=hook` calls `mail`. If a hook fails, `open` goes on without it (`claims` by default) and `closed` refuses with 503 (`beforeSignIn` by default).",
    parse: parseEnabledHooks,
  }),
  region: oneOf("REGION", locationHints, {
    default: "wnam",
    meaning:
      "The location hint with which `KeyManager`, `ControlPlane`, the first generation of shards and the database are created. Has no effect on existing ones ([regions](../operating/deploy.md#regions)).",
  }),
  jurisdiction: oneOf("JURISDICTION", jurisdictions, {
    default: "none",
    meaning:
      "`eu`, `us`: objects and databases are created in the European Union or the United States and stay there, and nothing is copied to KV. Chosen at the first deployment, and never changed ([regions](../operating/deploy.md#regions)).",
  }),
};

export type Settings = SettingsOf<typeof workerSettings>;
export type RevocationMode = Settings["revocationMode"];
export type SettingsVariables = VariablesOf<typeof workerSettings> & { readonly ISSUER: string };

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
  if (settings.mailProvider !== "off" && settings.mailFrom === undefined) {
    throw new Error("MAIL_FROM must be a mail address if MAIL_PROVIDER is not off");
  }
  if (settings.signUp !== "off" && settings.mailProvider === "off") {
    throw new Error("MAIL_PROVIDER must not be off if SIGN_UP is not off: addresses are proven by mail");
  }
  return revocationMode === "direct" ? { ...settings, leaseMs: 0 } : settings;
}
