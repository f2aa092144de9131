import type { RequestContext } from "@edge-op/shared/http/request-context";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import { macText, verifyMac } from "@edge-op/shared/secrets/mac";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";

/**
 * **Tokens that a form of ours carries**: bound to what the form is for and to the browser's cookie, so that another
 * site, and another browser, can submit nothing. Nothing is stored.
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
  if (!genuine) throw new OAuthError("invalid_request", "form token missing or not of this browser", { status: 403 });
}
