import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { macText, verifyMac } from "@edge-op/shared/secrets/mac";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";

/**
 * **Form tokens against cross-site request forgery**: a MAC over the purpose of the form and the browser or session, in a hidden field.
 * Another site, or another browser, cannot submit the form. Nothing is stored.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.7
 */
export function formToken(
  context: RequestContext<MasterKeyBindings>,
  purpose: string,
  binding: string,
): Promise<string> {
  return macText(context.env, "cookie-mac", `form\n${purpose}\n${binding}`);
}

export async function requireFormToken(
  context: RequestContext<MasterKeyBindings>,
  purpose: string,
  binding: string,
  presented: string | undefined,
): Promise<void> {
  const genuine = await verifyMac(context.env, "cookie-mac", `form\n${purpose}\n${binding}`, presented ?? "");
  if (!genuine) throw new OAuthError("invalid_request", "form-token-invalid", { status: 403 });
}
