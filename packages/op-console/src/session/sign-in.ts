/**
 * **The console's own client**, `console`: set-up writes it beside the first admin client. Its secret is a MAC under the master key, so no secret has
 * to be passed on, and the command that replaces the master key writes the new one (docs/operating/rotate-keys.md).
 */

import { OAuthError, UnavailableError } from "@edge-op/protocol/oauth/errors";
import { macTexts } from "@edge-op/shared/secrets/mac";
import type { ConsoleCall } from "../api/console-call.ts";

export const consoleClientId = "console";

/** The scope that the console requests: `permissions` shows which of the admin scopes the person has. */
export const consoleScopes = [
  ...["openid", "profile", "permissions"],
  ...["admin:clients", "admin:issuers", "admin:users", "admin:keys", "admin:shards", "admin:audit"],
] as const;

/** The scope for a member who administers their own organisation: `permissions` shows those of the membership. */
const memberScope = "openid profile permissions";

export interface TokenResponse {
  readonly access_token: string;
  readonly expires_in: number;
  readonly scope?: string;
  readonly id_token: string;
}

/** `POST /token` with the secret of the current master key, then with that of the previous one. */
export async function requestToken(
  { context, call }: ConsoleCall,
  form: Readonly<Record<string, string>>,
): Promise<TokenResponse> {
  const { issuer } = context.settings;
  for (const secret of await macTexts(context.env, "console-mac", consoleClientId)) {
    const response = await call("TOKEN", `${issuer}/token`, {
      method: "POST",
      headers: { Authorization: `Basic ${btoa(`${consoleClientId}:${secret}`)}` },
      body: new URLSearchParams(form),
    });
    if (response.status === 401) continue;
    if (response.status >= 500 || response.status === 429) throw new UnavailableError("Worker TOKEN", response.status);
    const body = await response.json<Partial<TokenResponse> & { readonly error?: string }>();
    if (response.status !== 200) throw signInFailed(`/token responds ${body.error ?? response.status}`);
    return body as TokenResponse;
  }
  throw signInFailed("the client `console` does not exist, or has another secret: npm run admin-client repairs it");
}

export function signInFailed(detail: string): OAuthError {
  return new OAuthError("access_denied", "console-sign-in-failed", { status: 403, detail });
}

/**
 * **Signing in to the console, by this provider itself**: the code flow with PKCE and two factors, like any application. The state of the flow is
 * sealed in `state` and bound to the browser, so that several tabs may sign in and nobody can be signed in to another person's session.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-2.1
 */

import { identifyBrowser } from "@edge-op/pages/cookies";
import { ownLocation } from "@edge-op/pages/language-switch";
import { redirect } from "@edge-op/pages/respond-page";
import { encodeBase64Url, randomBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { isNumber, isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { decodeClaims, type JwtClaims } from "@edge-op/protocol/jwt/decode-claims";
import { organizationsAudience } from "@edge-op/protocol/oauth/scope";
import { openSealed, sealText } from "@edge-op/shared/secrets/seal";
import { type ConsoleSession, sessionCookie } from "./session.ts";

export const callbackPath = "/console/callback";
const signInMs = 60 * 60_000;

interface Started {
  readonly nonce: string;
  readonly verifier: string;
  /** The page to come back to. */
  readonly to: string;
  readonly atMs: number;
  readonly orgId?: string | undefined;
}

const isStarted = objectOf<Started>({ nonce: isText, verifier: isText, to: isText, atMs: isNumber });

/** A path of the console; the overview for anything else. */
export function consolePath(text: string): string {
  const path = ownLocation(text);
  return /^\/(?:console|organization)(?:[/?]|$)/.test(path) && !path.startsWith(callbackPath) ? path : "/console";
}

/** The console's own host, by the issuer's scheme: an operator who gives it one registers its callback at the client. */
function callbackUrl({ context, request }: ConsoleCall): string {
  const url = new URL(callbackPath, request.url);
  url.protocol = new URL(context.settings.issuer).protocol;
  return url.href;
}

/** `orgId`: the organisation that a member administers; absent for the deployment. */
export async function beginSignIn(at: ConsoleCall, to: string, orgId: string | undefined): Promise<Response> {
  const { context, request } = at;
  const { issuer } = context.settings;
  const browser = await identifyBrowser(context, request);
  const verifier = randomBase64Url(32);
  const nonce = randomBase64Url(16);
  const started: Started = { nonce, verifier, to: consolePath(to), atMs: context.arrivedAtMs, orgId };
  const state = await sealText(context.env, "console-seal", JSON.stringify(started), { bound: browser.id });
  const query = new URLSearchParams({
    client_id: consoleClientId,
    response_type: "code",
    redirect_uri: callbackUrl(at),
    ...(orgId === undefined
      ? { scope: consoleScopes.join(" ") }
      : { scope: memberScope, organization: orgId, resource: organizationsAudience(issuer) }),
    acr_values: "mfa",
    state,
    nonce,
    code_challenge: encodeBase64Url(await sha256(verifier)),
    code_challenge_method: "S256",
  });
  return redirect(`${issuer}/authorize?${query}`, [browser.setCookie]);
}

/** **`GET /console/callback`**. Cost: 1 request to `/token`. */
export async function completeSignIn(at: ConsoleCall): Promise<Response> {
  const { context, request } = at;
  const { searchParams } = new URL(request.url);
  const [browser, state, code] = [
    await identifyBrowser(context, request),
    searchParams.get("state") ?? "",
    searchParams.get("code"),
  ];
  const text = await openSealed(context.env, "console-seal", state, browser.id);
  if (text === undefined) throw signInFailed("the sign-in began in another browser, or its state was changed");
  const { nonce, verifier, to, atMs, orgId } = readStored("console sign-in", text, isStarted);
  if (context.arrivedAtMs - atMs > signInMs) throw signInFailed("the sign-in took longer than an hour");
  // RFC 9207 §2.4: a code of another provider is not sent to this one.
  if (searchParams.get("iss") !== context.settings.issuer) throw signInFailed("the response is of another issuer");
  if (code === null)
    throw signInFailed(`/authorize responds ${/^\w+$/.exec(searchParams.get("error") ?? "") ?? "nothing"}`);
  const tokens = await requestToken(at, {
    grant_type: "authorization_code",
    code,
    redirect_uri: callbackUrl(at),
    code_verifier: verifier,
  });
  const session = sessionOf(at, { nonce, orgId }, decodeClaims(tokens.id_token), tokens);
  return redirect(to, [await sessionCookie(context, session)]);
}

/** The ID token comes from the token endpoint itself, so its signature says nothing more (OIDC Core §3.1.3.7). */
function sessionOf(
  { context }: ConsoleCall,
  { nonce, orgId }: Pick<Started, "nonce" | "orgId">,
  claims: JwtClaims = {},
  {
    access_token: token,
    expires_in: seconds,
    scope = consoleScopes.join(" "),
  }: Awaited<ReturnType<typeof requestToken>>,
): ConsoleSession {
  if (claims["nonce"] !== nonce || claims["aud"] !== consoleClientId)
    throw signInFailed("the ID token belongs to another sign-in");
  if (claims["org_id"] !== orgId) throw signInFailed("the grant is of another organisation");
  if (claims["acr"] !== "mfa" && claims["acr"] !== "phr") throw signInFailed("the sign-in had one factor");
  // Permissions are in access tokens alone (docs/reference/scopes-and-tokens.md); this one is of the same provider, and says only what is shown.
  const { permissions: given } = decodeClaims(token) ?? {};
  const permissions = Array.isArray(given) ? given.map(String) : [];
  const sub = String(claims["sub"]);
  return {
    id: randomBase64Url(16),
    token,
    expiresAtMs: context.arrivedAtMs + seconds * 1000,
    sub,
    name: typeof claims["name"] === "string" ? [...claims["name"]].slice(0, 64).join("") : sub,
    orgId,
    scopes:
      orgId === undefined
        ? scope.split(" ").filter((value) => value.startsWith("admin:") && permissions.includes(value))
        : permissions.filter((value) => value.startsWith("org:")),
  };
}
