import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { type AuthorizationRequest, type Prompt, prompts } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";

/**
 * **`prompt`**: known values, and `none` only alone. Unknown values, and `create` where nobody may sign up, are refused, not ignored, because the client
 * requested an interaction.
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
