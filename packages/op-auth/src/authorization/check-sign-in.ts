import { readLocales } from "@edge-op/pages/languages";
import { isSupportedAcr } from "@edge-op/protocol/oauth/authentication-context";
import type { ClaimsRequest } from "@edge-op/protocol/oauth/claims";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { readIdToken } from "@edge-op/shared/tokens/id-token";
import { type AuthorizationRequest, type CheckInput, type Prompt, prompts } from "./authorization-request.ts";
import { requestedValues } from "./check-claims.ts";

/**
 * **`prompt`**: known values, and `none` only alone. Unknown values, and `create` where nobody may sign up, are refused, not ignored, because the
 * client requested an interaction.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest
 * @see https://openid.net/specs/openid-connect-prompt-create-1_0.html#section-4.1
 */
export function checkPrompt({ context, parameters }: CheckInput): Pick<AuthorizationRequest, "prompt"> {
  const prompt = [...new Set(parameters.get("prompt")?.split(" ").filter(Boolean) ?? [])];
  if (!prompt.every(isPrompt)) throw refusal("prompt-unknown", "The prompt contains an unsupported value.");
  if (prompt.includes("create") && context.settings.signUp !== "open")
    throw refusal("prompt-unknown", "The prompt create is not supported.");
  if (prompt.includes("none") && prompt.length > 1)
    throw refusal("prompt-none-with-others", "The prompt none must not be combined with other values.");
  return { prompt };
}

function isPrompt(value: string): value is Prompt {
  return prompts.some((known) => known === value);
}

function refusal(reason: RefusalReason, description: string): OAuthError {
  return new OAuthError("invalid_request", reason, { description });
}

/** **`max_age`, or the client's default.** @see https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest */
export function checkMaxAge({ client, parameters }: CheckInput): Pick<AuthorizationRequest, "maxAgeSeconds"> {
  const text = parameters.get("max_age");
  if (text === undefined) return { maxAgeSeconds: client.metadata.default_max_age };
  if (!/^\d{1,10}$/.test(text)) {
    throw new OAuthError("invalid_request", "max-age-malformed", {
      description: "The max_age must be a number of seconds.",
    });
  }
  return { maxAgeSeconds: Number(text) };
}

/** Values beyond this number are ignored. */
const valuesAtMost = 20;

/**
 * **The `acr` values that a client prefers**: a voluntary `acr` claim, else `acr_values`, else the client's `default_acr_values`.
 * Unsupported values are ignored; nothing is refused.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#acrSemantics
 */
export function checkPreferredAcr(
  { client, parameters }: CheckInput,
  claims: ClaimsRequest | undefined,
): Pick<AuthorizationRequest, "preferredAcr"> {
  const claim = claims?.id_token?.["acr"];
  const claimed = claim ? requestedValues(claim) : undefined;
  const asked = claimed ?? parameters.get("acr_values")?.split(" ", valuesAtMost) ?? client.metadata.default_acr_values;
  const preferred = asked?.filter(isSupportedAcr) ?? [];
  return { preferredAcr: preferred.length === 0 ? undefined : preferred };
}

const invalidHint = "The id_token_hint is not valid.";

/**
 * **The subject that the client expects to be signed in**: the `sub` of `id_token_hint` or of the `claims` parameter, which must be equal if
 * both are sent. The hint must be an ID token that this provider issued to this client; it may have expired.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest
 */
export async function checkExpectedSubject(
  { context, isolate, client, parameters }: CheckInput,
  claimedSubject: string | undefined,
): Promise<Pick<AuthorizationRequest, "expectedSubject">> {
  const hint = parameters.get("id_token_hint");
  if (hint === undefined) return { expectedSubject: claimedSubject };
  const idToken = await readIdToken(context, isolate, hint, { acceptExpired: true });
  if (idToken === undefined || !idToken.audiences.includes(client.clientId)) {
    throw refusal("id-token-hint-invalid", invalidHint);
  }
  if (claimedSubject !== undefined && claimedSubject !== idToken.sub) throw refusal("subjects-differ", invalidHint);
  return { expectedSubject: idToken.sub };
}

/** The length of the username field. */
const hintCharacters = 256;

/**
 * **`login_hint` and `ui_locales`.** Neither affects the decision, so neither is refused: a value that is too long is ignored.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest
 */
export function checkHints({ parameters }: CheckInput): Pick<AuthorizationRequest, "loginHint" | "uiLocales"> {
  const hint = parameters.get("login_hint");
  return {
    loginHint: hint !== undefined && hint.length <= hintCharacters ? hint : undefined,
    uiLocales: readLocales(parameters.get("ui_locales")),
  };
}
