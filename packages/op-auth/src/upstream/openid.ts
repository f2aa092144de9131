import { isJsonObject, type JsonObject, parseJsonObject, valueAt } from "@edge-op/protocol/encoding/json-object";
import { foreignClockSkewSeconds, toSeconds } from "@edge-op/protocol/encoding/seconds";
import { decodeJwt } from "@edge-op/protocol/jwt/decode-claims";
import { isLoopback } from "@edge-op/shared/http/client-url";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import type { Configuration, CustomFetch } from "openid-client";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import { readUser, type UpstreamPerson, upstreamKinds } from "./kinds.ts";
import { clientAuth, guardedFetch, UpstreamUnreachable } from "./provider-fetch.ts";
import type { Transaction } from "./transaction.ts";

/** Imported on first use: few isolates need it. */
function importClient() {
  return import("openid-client");
}

type Library = Awaited<ReturnType<typeof importClient>>;

interface At {
  readonly context: RequestContext<AuthEnv>;
  readonly isolate: AuthIsolate;
}

/** The request to the upstream provider. */
export interface UpstreamRequest {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** A new authentication is required. */
  readonly isFresh: boolean;
  /** In the provider's names. */
  readonly acrValues?: readonly string[] | undefined;
  readonly loginHint: string | undefined;
}

/** Where people come back to. */
export function callbackUri({ settings }: Pick<RequestContext<unknown>, "settings">, upstreamId: string): string {
  return `${settings.issuer}/upstream/${encodeURIComponent(upstreamId)}/callback`;
}

/**
 * **The authorization request to an upstream provider**, with PKCE, `nonce` and `state`. Cost: 0; 1 fetch of its metadata if none is held.
 *
 * @throws UpstreamUnreachable
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest
 */
export async function authorizationUrl(at: At, upstream: Upstream, asked: UpstreamRequest): Promise<URL> {
  const library = await importClient();
  const config = await configure(at, library, upstream);
  const { scopes, promptAgain, isPosting, endpoints } = upstreamKinds[upstream.document.kind];
  const parameters = {
    redirect_uri: callbackUri(at.context, upstream.upstreamId),
    scope: (upstream.document.scopes ?? scopes).join(" "),
    state: asked.state,
    ...(endpoints === undefined ? { nonce: asked.nonce } : {}),
    ...(isPosting ? { response_mode: "form_post" } : {}),
    code_challenge: await library.calculatePKCECodeChallenge(asked.verifier),
    code_challenge_method: "S256",
    ...(asked.isFresh && promptAgain !== undefined ? { prompt: promptAgain } : {}),
    ...(asked.acrValues?.length ? { acr_values: asked.acrValues.join(" ") } : {}),
    ...(asked.loginHint === undefined ? {} : { login_hint: asked.loginHint }),
  };
  // A browser is sent there, so a wrong one is that provider's fault and no error of this one.
  const { issuer, authorization_endpoint: endpoint = "" } = config.serverMetadata();
  const { protocol } = URL.parse(endpoint) ?? {};
  const isLocal = isLoopback(new URL(issuer).hostname);
  if (protocol !== "https:" && !(isLocal && protocol === "http:")) {
    throw new UpstreamUnreachable(`${issuer}: no usable authorization_endpoint`);
  }
  return library.buildAuthorizationUrl(config, parameters);
}

/** The upstream provider sends an error: the person cancelled, or the request is wrong. */
export class UpstreamRefusal extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/**
 * **Redeems the code of a callback and verifies the ID token**: `state`, `iss` (RFC 9207), `nonce`, issuer, audience and time by openid-client, the
 * signature with keys that are cached like those of clients. Cost: 1 fetch; 1 more each for metadata and keys that are not held; after it 1 for
 * UserInfo, if the ID token has no address; of GitHub 2 after it.
 *
 * @throws UpstreamUnreachable, UpstreamRefusal, or another error for a response that is not genuine
 */
export async function redeem(
  at: At,
  upstream: Upstream,
  parameters: URLSearchParams,
  { nonce, verifier, issuer }: Transaction,
): Promise<UpstreamPerson> {
  const library = await importClient();
  const config = await configure(at, library, upstream);
  const { issuerOf, endpoints, admits } = upstreamKinds[upstream.document.kind];
  if (issuerOf(upstream.document) !== issuer) throw new Error("the record names another issuer now");
  const callback = new URL(callbackUri(at.context, upstream.upstreamId));
  callback.search = parameters.toString();
  const checks = {
    pkceCodeVerifier: verifier,
    expectedState: parameters.get("state") ?? "",
    ...(endpoints === undefined ? { expectedNonce: nonce } : {}),
  };
  const tokens = await library.authorizationCodeGrant(config, callback, checks).catch((error: unknown) => {
    throw causeOf(library, error);
  });
  if (endpoints !== undefined) {
    const fetch = guardedFetch(at.context.settings.issuer);
    return toPerson(upstream, await readUser(fetch, issuer, endpoints, tokens.access_token));
  }
  const claims = tokens.claims();
  if (claims === undefined || tokens.id_token === undefined) throw new Error("no ID token");
  // openid-client leaves this to its caller (OIDC Core §3.1.3.7).
  const nowSeconds = toSeconds(at.context.arrivedAtMs);
  if (claims.iat > nowSeconds + foreignClockSkewSeconds) throw new Error("the ID token is of the future");
  const { iss, sub, acr, auth_time, email, sid, iat } = claims;
  const required = Object.entries(upstream.document.required_claims ?? {});
  const isWhole = email !== undefined && required.every(([pointer]) => valueAt({ ...claims }, pointer) !== undefined);
  const [userInfo] = await Promise.all([
    readUserInfo(library, config, upstream, { accessToken: tokens.access_token, sub, isWhole }),
    requireSignature(at, config, tokens.id_token),
  ]);
  if (admits?.(upstream.document, { ...claims }) === false) throw new Error("the person belongs to another directory");
  const wrong = required.find(
    ([pointer, value]) => (valueAt({ ...claims }, pointer) ?? valueAt(userInfo, pointer)) !== value,
  );
  if (wrong !== undefined) throw new Error(`${wrong[0]} is not what required_claims states`);
  const signed = { iss, sub, acr, auth_time, sid, iat };
  return toPerson(upstream, { ...namesOf(parameters.get("user")), ...claims, ...userInfo, ...signed });
}

/**
 * The claims that an ID token omits: claims of scopes are at UserInfo (OIDC Core §5.4), whose `sub` must be the same (§5.3.2). `isWhole`: the ID token
 * has everything. Other kinds than `oidc` state in the ID token whose the address is.
 */
async function readUserInfo(
  library: Library,
  config: Configuration,
  { document }: Upstream,
  { accessToken, sub, isWhole }: { readonly accessToken: string; readonly sub: string; readonly isWhole: boolean },
): Promise<JsonObject> {
  const isThere = config.serverMetadata().userinfo_endpoint !== undefined;
  if (document.kind !== "oidc" || isWhole || !isThere) return {};
  const found = await library.fetchUserInfo(config, accessToken, sub).catch((error: unknown) => {
    throw causeOf(library, error);
  });
  // A flag of the ID token is about no address of UserInfo.
  return { email_verified: undefined, ...found };
}

/** The names that Apple posts beside its response, unsigned: no other member of it is read. */
function namesOf(user: string | null): JsonObject {
  const name = parseJsonObject(user ?? "")?.["name"];
  if (!isJsonObject(name)) return {};
  const { firstName: given, lastName: family } = name;
  const whole = [given, family].filter((part) => typeof part === "string" && part !== "").join(" ");
  return { given_name: given, family_name: family, ...(whole === "" ? {} : { name: whole }) };
}

/** The error that the library wraps, if it says more. */
function causeOf(library: Library, error: unknown): unknown {
  if (error instanceof library.AuthorizationResponseError) return new UpstreamRefusal(error.error);
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof UpstreamUnreachable) return cause;
  }
  return error;
}

/**
 * **Verifies another JWT of the provider**, with the keys of its ID tokens. Cost: 0; 1 fetch each for metadata and keys that are not held.
 *
 * @throws UpstreamUnreachable, or another error for a signature that is not the provider's
 */
export async function verifySignature(at: At, upstream: Upstream, token: string): Promise<void> {
  const library = await importClient();
  await requireSignature(at, await configure(at, library, upstream), token);
}

async function requireSignature({ context, isolate }: At, config: Configuration, token: string): Promise<void> {
  const header = decodeJwt(token)?.header;
  const { jwks_uri: uri } = config.serverMetadata();
  const isSigned =
    header !== undefined &&
    uri !== undefined &&
    (await isolate.clientKeys.isSignedBySource(context, { jwks_uri: uri }, token, header.alg, header.kid));
  const failure = isSigned ? undefined : isolate.clientKeys.failure(context, { jwks_uri: uri });
  if (failure !== undefined) throw new UpstreamUnreachable(failure);
  if (!isSigned) throw new Error("the token is not signed by the issuer");
}

const longestSubject = 255;

function toPerson(
  upstream: Upstream,
  claims: Readonly<Record<string, unknown>> & { iss: string; sub: string },
): UpstreamPerson {
  const { iss: issuer, sub: subject, email, acr, auth_time: authTime, sid, iat } = claims;
  // OIDC Core §2: unique, and at most 255 characters. An empty one would make one account of several people.
  if (subject === "" || subject.length > longestSubject) throw new Error("sub is empty, or longer than 255 characters");
  const { isBelieved } = upstreamKinds[upstream.document.kind];
  return {
    ...{ issuer, subject, claims },
    address:
      typeof email === "string" ? { address: email, isBelieved: isBelieved(upstream, claims, email) } : undefined,
    acr: typeof acr === "string" ? acr : undefined,
    authTimeMs: typeof authTime === "number" ? authTime * 1000 : undefined,
    sid: typeof sid === "string" && sid !== "" ? sid : undefined,
    issuedAt: typeof iat === "number" ? iat : undefined,
  };
}

async function configure(at: At, library: Library, upstream: Upstream): Promise<Configuration> {
  const { context } = at;
  const { kind, client_id: clientId } = upstream.document;
  const { issuerOf, endpoints } = upstreamKinds[kind];
  const issuer = issuerOf(upstream.document);
  const secret = await at.isolate.upstreams.secretOf(context, upstream);
  const auth = await clientAuth(context, library, upstream, secret);
  const fetch = guardedFetch(context.settings.issuer);
  if (endpoints !== undefined) {
    const config = new library.Configuration({ issuer, ...endpoints }, clientId, {}, auth);
    config[library.customFetch] = fetch;
    return config;
  }
  const isLocal = isLoopback(new URL(issuer).hostname);
  const options = {
    [library.customFetch]: cachingFetch(at, fetch),
    execute: isLocal ? [library.allowInsecureRequests] : [],
  };
  try {
    const config = await library.discovery(new URL(issuer), clientId, {}, auth, options);
    config[library.customFetch] = fetch;
    return config;
  } catch (error) {
    const cause = causeOf(library, error);
    // Metadata of another issuer, or none.
    throw cause instanceof library.ClientError ? new UpstreamUnreachable(`${issuer}: ${cause.message}`) : cause;
  }
}

/** Discovery asks for the metadata alone. */
function cachingFetch({ context, isolate }: At, fetch: CustomFetch): CustomFetch {
  return async (url, options) => {
    if (!url.includes("/.well-known/")) return fetch(url, options);
    const found = await isolate.upstreamMetadata.find(context, url);
    if (found.kind !== "document") throw new UpstreamUnreachable(`${url}: ${found.reason}`);
    return new Response(found.value.text, { headers: { "Content-Type": "application/json" } });
  };
}
