import type { Settings } from "@edge-op/shared/config/settings";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { mostPasswordCharacters, type PasswordFault } from "@edge-op/shared/secrets/password-policy";
import { judgeNewPassword } from "@edge-op/shared/users/breached-password";
import type { StoredUser } from "./user-table.ts";

/** **Refuses a new password that the policy does not accept**, with the reason. Cost: that of breached-password.ts. */
export async function requireAcceptablePassword(
  context: RequestContext<unknown>,
  { username, claims: { email } }: Pick<StoredUser, "username" | "claims">,
  password: string,
): Promise<void> {
  const fault = await judgeNewPassword(context, password, { username, email });
  if (fault !== undefined) throw invalidFields([{ path: "password", message: describe(fault, context.settings) }]);
}

function describe(fault: PasswordFault, { passwordMin }: Settings): string {
  const texts: Readonly<Record<PasswordFault, string>> = {
    malformed: "must be Unicode text",
    tooShort: `must be at least ${passwordMin} characters long`,
    tooLong: `must be at most ${mostPasswordCharacters} characters long`,
    common: "is a commonly used password",
    personal: "consists of little more than the username, the email address or the name of this service",
    breached: "is among the passwords of data breaches",
    simple: "consists of little more than repeated or consecutive characters",
  };
  return texts[fault];
}
