import type { Settings } from "@edge-op/shared/config/settings";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { findPasswordFault, mostPasswordCharacters, type PasswordFault } from "@edge-op/shared/secrets/password-policy";
import type { StoredUser } from "./user-table.ts";

/** **Refuses a new password that the policy does not accept**, with the reason. */
export function requireAcceptablePassword(
  settings: Settings,
  { username, claims: { email } }: Pick<StoredUser, "username" | "claims">,
  password: string,
): void {
  const fault = findPasswordFault(password, { settings, username, email });
  if (fault !== undefined) throw invalidFields([{ path: "password", message: describe(fault, settings) }]);
}

function describe(fault: PasswordFault, { passwordMin }: Settings): string {
  const texts: Readonly<Record<PasswordFault, string>> = {
    malformed: "must be Unicode text",
    tooShort: `must be at least ${passwordMin} characters long`,
    tooLong: `must be at most ${mostPasswordCharacters} characters long`,
    common: "is a commonly used password",
    personal: "consists of little more than the username, the email address or the name of this service",
    simple: "consists of little more than repeated or consecutive characters",
  };
  return texts[fault];
}
