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
