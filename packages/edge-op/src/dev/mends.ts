import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";

const sameClock =
  "Set the sender's clock (NTP). The error description says by how much it differs; 30 seconds are tolerated.";
const freshCode =
  "Start a new authorization request; a code is redeemed once, within a minute, by the client that requested it.";
const freshRefresh = "Use the newest refresh token of the grant; if none is known, the user must sign in again.";
const requestScope = "Request only scopes of the registration, or add the scope to the client's `scope`.";
const registerTarget = "Add the target to the client's `audiences`, or let the resource admit the client.";
const bindKey = "Send the DPoP proof, or the certificate, of the key to which the token is bound.";

/**
 * **What to do about a refusal**, by its reason: for developers of clients, on `/dev/refusals` and in `docs/reference/refusal-reasons.md`. A reason
 * whose meaning already says it, or that only an operator meets, has no entry. No Worker contains this table.
 */
export const mends: Readonly<Partial<Record<RefusalReason, string>>> = {
  "access-token-audience":
    "Request a token for this endpoint: send its `resource`, or the scope `openid` for `/userinfo`.",
  "access-token-bound": bindKey,
  "access-token-header-malformed": "Send `Authorization: Bearer <token>`, or `DPoP <token>` for a bound token.",
  "access-token-in-url": "Send the token in the header `Authorization`.",
  "access-token-invalid": "Get a new token. If it is new: it must be an access token (not an ID token) of this issuer.",
  "access-token-missing": "Send `Authorization: Bearer <token>`.",
  "access-token-of-other-key": bindKey,
  "access-token-revoked": "The user must sign in again, or the client must get a new token.",
  "access-token-without-user": "Use a token of a user: one of `client_credentials` has none.",
  "acr-not-reached": "Let the user sign in with the method that the `acr` requires, or request it as voluntary.",
  "assertion-aud": "Set `aud` to the issuer, exactly as in the discovery document.",
  "assertion-aud-not-issuer": "Set `aud` to the issuer, as one string.",
  "assertion-client-differs": "Send no `client_id`, or the one that is the `sub` of the assertion.",
  "assertion-exp": sameClock,
  "assertion-iat": sameClock,
  "assertion-iss": "Set `iss` and `sub` to the client's id.",
  "assertion-jti": "Send a random `jti`.",
  "assertion-lifetime": "Let the assertion expire after a minute.",
  "assertion-nbf": sameClock,
  "assertion-replayed": "Sign a new assertion for each request.",
  "assertion-signature": "Compare the `kid` and `alg` of the assertion with the client's `jwks` or `jwks_uri`.",
  "assertion-sub": "Add the subject to `jwt_bearer.subjects` of the client.",
  "body-media-type": "Send `Content-Type: application/x-www-form-urlencoded`; the admin API and `/register` take JSON.",
  "certificate-missing": "Send the request to an endpoint of `mtls_endpoint_aliases`, with the client's certificate.",
  "client-authentication-missing": "Send `client_id`, with the authentication that the client has registered.",
  "client-authentication-repeated": "Send the credentials once: in the header or in the form.",
  "client-disabled": "An administrator must enable the client.",
  "client-header-malformed": "Send `Authorization: Basic <base64 of id:secret>`, both form-encoded first.",
  "client-id-differs": "Send the same `client_id` everywhere, or only once.",
  "client-method-differs":
    "Change the library's authentication method, or the client's `token_endpoint_auth_method`: they must be equal.",
  "client-secret-wrong":
    "Compare the secret with the one that was shown at registration; in a header, both halves are form-encoded. A lost secret is replaced, not read.",
  "client-unknown": "Compare `client_id` with the registration, and the issuer with the provider that has it.",
  "code-expired": freshCode,
  "code-flow-not-registered": "Add `authorization_code` to `grant_types` and `code` to `response_types`.",
  "code-invalid": freshCode,
  "code-of-other-client": "Redeem the code as the client that requested it.",
  "code-redirect-uri": "Send the `redirect_uri` of the authorization request to `/token` too, byte for byte.",
  "code-replayed":
    "Redeem a code once. Two redemptions often are a callback that runs twice (a reload, a prefetch, a development mode).",
  "device-code-expired": "Request a new device code.",
  "device-pending": "Not an error: poll again after `interval` seconds.",
  "device-polls-too-often": "Wait five seconds longer between polls.",
  "dpop-alg": "Sign the proof with one of `dpop_signing_alg_values_supported`.",
  "dpop-ath": "Send `ath`: the base64url SHA-256 of the access token.",
  "dpop-htm": "Set `htm` to the method of this request.",
  "dpop-htu":
    "Set `htu` to the URL of this request under the issuer, without query and fragment. Behind a proxy, use the public URL.",
  "dpop-iat": sameClock,
  "dpop-nonce-missing": "Repeat the request with the nonce of the header `DPoP-Nonce`.",
  "dpop-nonce-old": "Repeat the request with the nonce of the header `DPoP-Nonce`.",
  "dpop-proof-missing": bindKey,
  "dpop-proof-required": "Send a DPoP proof, or register the client without `dpop_bound_access_tokens`.",
  "dpop-replayed": "Sign a new proof for each request.",
  "exchange-mode": "Add the mode to `token_exchange.modes`; without an `actor_token` it is impersonation.",
  "exchange-policy-missing": "Give the client a `token_exchange` policy.",
  "form-token-invalid": "Reload the page. The browser must keep cookies of the provider.",
  "grant-cut-off": "The user must sign in again.",
  "grant-revoked": "The user must sign in again, or the client must get a new token.",
  "grant-type-not-registered": "Add the grant type to `grant_types` of the client.",
  "grant-type-unknown": "Use one of `grant_types_supported` of the discovery document.",
  "id-token-hint-invalid": "Send an ID token of this provider, issued to this client.",
  "flow-invalid": "Go back to the application and start again, in the browser that began.",
  "flow-expired": "Continue with the link of the page, or go back to the application and start again.",
  "introspection-by-public-client": "Introspect as a confidential client.",
  "issued-token-claims":
    "The log line lists the claims; compare them with the trusted issuer's record, or use its dry run.",
  "issued-token-signature": "Compare the `kid` with the issuer's `jwks_uri`.",
  "issuer-not-trusted": "Register the issuer (`POST /admin/issuers`), with `iss` byte for byte.",
  "issuer-rule-missing":
    "Compare the token's claims with the rules: `POST /admin/issuers/<id>/test` shows why each does not match.",
  "jwt-bearer-policy-missing": "Give the client a `jwt_bearer` policy.",
  "logout-hint-invalid": "Send the ID token of the sign-in as `id_token_hint`.",
  "logout-uri-not-registered": "Add the URI to `post_logout_redirect_uris` of the client, byte for byte.",
  "logout-uri-without-client": "Send `id_token_hint` or `client_id` too.",
  "nobody-signed-in": "Not an error of the request: repeat it without `prompt=none`.",
  "parameter-missing": "Send the parameter that the error description names.",
  "parameter-repeated": "Send each parameter once.",
  "person-denied": "Not an error of the request: the user chose it.",
  "pkce-malformed": "Send the base64url SHA-256 of the verifier: 43 characters.",
  "pkce-method": "Send `code_challenge_method=S256`.",
  "pkce-missing":
    "Enable PKCE in the library; a confidential client may be registered with `require_pkce: false` and send a `nonce`.",
  "prompt-none": "Not an error of the request: repeat it without `prompt=none`, with the user present.",
  "rate-limit-exceeded": "Wait as long as `Retry-After` says.",
  "redirect-uri-not-registered":
    "Add the URI to `redirect_uris` of the client, or send one of the registered ones, byte for byte: scheme, port, path, a slash at the end.",
  "refresh-family-expired": freshRefresh,
  "refresh-family-reused": freshRefresh,
  "refresh-family-ended": freshRefresh,
  "refresh-family-unknown": freshRefresh,
  "refresh-token-invalid": "Send the refresh token unchanged, to the issuer that issued it.",
  "refresh-token-of-other-client": "Refresh as the client to which the token was issued.",
  "refresh-token-of-other-key": bindKey,
  "refresh-token-reused":
    "Store the new refresh token of each response before you use it; processes that share one must share the new one.",
  "registration-off": "Register the client as an administrator, or set `CLIENT_REGISTRATION`.",
  "request-not-pushed": "Push the request to `/par` first.",
  "request-object-claims": "The log line names the claim. For a time: set the sender's clock (NTP).",
  "request-object-signature":
    "Compare the `kid` and `alg` of the request object with the client's `jwks` or `jwks_uri`.",
  "request-uri-foreign": "Push the request to `/par` and send the `request_uri` of its response.",
  "request-uri-invalid": "Push the request again: a `request_uri` is used once, within a minute, by its client.",
  "resource-needs-bound-tokens": "Send a DPoP proof or a client certificate with the token request.",
  "resource-not-granted": "Name the `resource` in the authorization request.",
  "resources-not-registered": registerTarget,
  "response-type-unsupported": "Send `response_type=code`.",
  "scope-empty": requestScope,
  "scope-insufficient": "Request a token with the scope that the response names.",
  "scope-not-allowed": requestScope,
  "scope-not-granted": "Request the scope in the authorization request.",
  "scope-not-registered": requestScope,
  "subject-token-invalid": "Send a live access token of this provider, with its `subject_token_type`.",
  "subject-token-of-other-client": "Add the client of the subject token to `token_exchange.subject_clients`.",
  "subject-token-revoked": "Get a new subject token.",
  "target-missing": "Send `audience` or `resource`, or give the client a default in `audiences`.",
  "target-not-allowed": registerTarget,
  "user-not-active": "Create the user, or set its status to `active`.",
  "user-suspended": "An administrator must set the user's status to `active`.",
  "verifier-malformed": "Send 43 to 128 of the characters A-Z, a-z, 0-9, `-`, `.`, `_`, `~`.",
  "verifier-missing": "Keep the `code_verifier` of the authorization request (in the session) and send it to `/token`.",
  "verifier-unexpected": "Send `code_challenge` in the authorization request, or no `code_verifier`.",
  "verifier-wrong": "Send the verifier of this authorization request: two tabs or two servers may have mixed them up.",
};
