import { importJWK } from "jose";
import * as oidc from "openid-client";
import { Failure } from "../console/failure.ts";
import type { Context, StoredTokens } from "./contexts.ts";

/** Time for one response of the provider, in seconds. */
const responseSeconds = 30;

/**
 * **Gets tokens for the admin API**, with a client's credential or with what a person's sign-in left. The provider's metadata are read each time.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.4
 */
export async function discover(context: Pick<Context, "issuer" | "client_id" | "client_secret" | "private_jwk">) {
  const url = new URL(context.issuer);
  return asFailure(async () => {
    const authentication = await authenticationOf(context);
    const execute = url.protocol === "http:" ? [oidc.allowInsecureRequests] : [];
    return oidc.discovery(url, context.client_id, undefined, authentication, { execute, timeout: responseSeconds });
  });
}

async function authenticationOf({
  client_secret: secret,
  private_jwk: jwk,
}: Pick<Context, "client_secret" | "private_jwk">): Promise<oidc.ClientAuth> {
  if (secret !== undefined) return oidc.ClientSecretBasic(secret);
  if (jwk === undefined) return oidc.None();
  const key = (await importJWK(jwk, jwk.alg)) as CryptoKey;
  return oidc.PrivateKeyJwt(jwk.kid === undefined ? key : { key, kid: jwk.kid });
}

export function adminUrl(issuer: string): string {
  return `${issuer}/admin`;
}

export interface Authorized {
  readonly tokens: StoredTokens;
  readonly scope: string;
}

/** A new access token. `scope`: fewer values than the client's own. */
export async function authorizeAgain(context: Context, scope?: string): Promise<Authorized> {
  const refreshToken = context.tokens?.refresh_token;
  if (context.person === true && refreshToken === undefined) throw endedSignIn();
  const config = await discover(context);
  return asFailure(async () => {
    if (refreshToken !== undefined) {
      const response = await oidc.refreshTokenGrant(config, refreshToken);
      return authorized(response, refreshToken);
    }
    const parameters = { audience: adminUrl(context.issuer), ...(scope === undefined ? {} : { scope }) };
    return authorized(await oidc.clientCredentialsGrant(config, parameters));
  });
}

export function authorized(response: oidc.TokenEndpointResponse, refreshToken?: string): Authorized {
  const {
    access_token: accessToken,
    expires_in: lifetime = 0,
    refresh_token: next = refreshToken,
    scope = "",
  } = response;
  const expiresAt = Math.floor(Date.now() / 1000) + lifetime;
  const tokens = {
    access_token: accessToken,
    expires_at: expiresAt,
    ...(next === undefined ? {} : { refresh_token: next }),
  };
  return { tokens, scope };
}

function endedSignIn(cause?: unknown): Failure {
  return new Failure("notSignedIn", "The sign-in has ended. Sign in again with: edge-op login <issuer>", {}, { cause });
}

/** Runs calls of the OAuth library, and turns its errors into failures. */
export async function asFailure<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw error instanceof Failure ? error : (failureOf(error) ?? error);
  }
}

const notAllowed = ["invalid_scope", "invalid_target", "unauthorized_client", "access_denied"];

function failureOf(error: unknown): Failure | undefined {
  if (error instanceof oidc.ResponseBodyError) {
    const { error: code, error_description: description = "", status } = error;
    const message = `${code}: ${description}`;
    if (status >= 500 || status === 429) return new Failure("unavailable", message, { error: code });
    if (code === "invalid_grant") return endedSignIn(error);
    return new Failure(notAllowed.includes(code) ? "noRights" : "notSignedIn", message, { error: code });
  }
  if (error instanceof oidc.AuthorizationResponseError) {
    return new Failure(
      error.error === "access_denied" ? "noRights" : "notSignedIn",
      `${error.error}: ${error.error_description ?? ""}`,
    );
  }
  if (error instanceof oidc.WWWAuthenticateChallengeError) {
    return new Failure("notSignedIn", "The provider does not accept the client's credential.", {
      error: "invalid_client",
    });
  }
  // The library finds an endpoint that is absent, or no URL, by the check of its arguments.
  const isEndpoint = error instanceof TypeError && "code" in error;
  if (error instanceof oidc.ClientError || isEndpoint) {
    return new Failure("unavailable", `The provider did not answer as one: ${error.message}`, {}, { cause: error });
  }
  return unreachable(error);
}

/** The failure of a request without a response; `undefined` for another error. */
export function unreachable(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) return undefined;
  const isNetwork = error instanceof TypeError && error.message === "fetch failed";
  if (!isNetwork && error.name !== "TimeoutError") return undefined;
  const { cause } = error;
  const reason = cause instanceof Error && cause.message !== "" ? cause.message : error.message;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return new Failure(
    "unavailable",
    `The provider did not respond: ${reason}${code === "" || reason.includes(code) ? "" : ` (${code})`}`,
    {},
    { cause: error },
  );
}

/** **Revokes the tokens of a context**, the whole grant of a person's sign-in. @see https://www.rfc-editor.org/rfc/rfc7009 */
export async function revokeSignIn(context: Context): Promise<void> {
  const { tokens } = context;
  if (tokens === undefined) return;
  const config = await discover(context);
  await asFailure(() => oidc.tokenRevocation(config, tokens.refresh_token ?? tokens.access_token));
}
