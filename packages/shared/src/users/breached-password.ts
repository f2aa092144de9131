import { encodeUtf8, hexOf } from "@edge-op/protocol/encoding/bytes";
import type { Settings } from "../config/settings.ts";
import { fetchClientUrl } from "../http/fetch-client-url.ts";
import { log } from "../runtime/log.ts";
import { onFirstUse } from "../runtime/on-first-use.ts";
import { normalizePassword } from "../secrets/password-hash.ts";
import { findPasswordFault, type PasswordContext, type PasswordFault } from "../secrets/password-policy.ts";

/** A person waits for it; a padded response has 800 to 1,000 lines of about 40 bytes. */
const rules = { timeoutMs: 800, bodyBytes: 131_072 };
const prefixLength = 5;

/** 170 KB, which few requests need. */
const commonPasswords = onFirstUse(async () => {
  const list = await import("../../data/common-passwords.json", { with: { type: "json" } });
  return list.default;
});

interface Asking {
  readonly settings: Settings;
  readonly requestId: string;
}

/**
 * **Whether a new password is acceptable**, also to the list of breached passwords that the deployment has chosen (`PASSWORD_BREACH`). Cost: 0; with
 * the list 1 request to it, of at most 800 ms.
 */
export async function judgeNewPassword(
  asking: Asking,
  password: string,
  user: Omit<PasswordContext, "settings">,
): Promise<PasswordFault | undefined> {
  const fault = findPasswordFault(password, { ...user, settings: asking.settings }, await commonPasswords());
  if (fault !== undefined || asking.settings.passwordBreach === "off") return fault;
  return (await isBreached(asking, normalizePassword(password))) ? "breached" : undefined;
}

/**
 * The list gets the first five characters of a SHA-1 hash, which about 2,000 of its passwords share, and the length of its response tells nothing.
 * Without a response in time the password is accepted: people can set passwords while the list is away.
 *
 * @see https://haveibeenpwned.com/API/v3#SearchingPwnedPasswordsByRange
 */
async function isBreached({ settings, requestId }: Asking, password: string): Promise<boolean> {
  const hash = hexOf(new Uint8Array(await crypto.subtle.digest("SHA-1", encodeUtf8(password)))).toUpperCase();
  const url = `https://api.pwnedpasswords.com/range/${hash.slice(0, prefixLength)}`;
  const result = await fetchClientUrl(url, settings.issuer, { headers: { "Add-Padding": "true" }, rules });
  if (result.kind === "response" && result.status === 200) return isListed(result.body, hash.slice(prefixLength));
  log("breach-check-failed", {
    cause: result.kind === "response" ? `status ${result.status}` : result.reason,
    requestId,
  });
  return false;
}

/** Lines of a suffix and a count; padding has the count 0. */
function isListed(body: string, suffix: string): boolean {
  return body.split("\n").some((line) => {
    const [listed, count] = line.trim().split(":");
    return listed === suffix && Number(count) > 0;
  });
}
