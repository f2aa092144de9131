import { tokenRevocation } from "openid-client";
import { asFailure, discover } from "./authorize.ts";
import type { Context } from "./contexts.ts";

/** **Revokes the tokens of a context**, the whole grant of a person's sign-in. @see https://www.rfc-editor.org/rfc/rfc7009 */
export async function revokeSignIn(context: Context): Promise<void> {
  const { tokens } = context;
  if (tokens === undefined) return;
  const config = await discover(context);
  await asFailure(() => tokenRevocation(config, tokens.refresh_token ?? tokens.access_token));
}
