import { callHook, isHookEnabled, UnusableResult } from "@edge-op/shared/hooks/call-hook";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { refusalMs } from "@edge-op/shared/secrets/hash-cost";
import { spellingsOf, verifyPassword } from "@edge-op/shared/secrets/password-hash";
import { isLegacyHash } from "@edge-op/shared/secrets/stored-hash";
import type { PasswordRecord } from "@edge-op/shared/users/credentials";
import type { PageRequest } from "../pages/frame.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { holdRefusal } from "../runtime/refusal-times.ts";

interface Stored {
  readonly hash: string | undefined;
  readonly record: Pick<PasswordRecord, "sub" | "status"> | undefined;
  /** The cost of the dearest hash of the deployment. */
  readonly dearestMs: number;
}

interface Typed {
  readonly username: string;
  readonly password: string;
}

/**
 * **Verifies a password, by the hook `legacyPassword` if the stored hash says so**, after the limits of attempts. Neither work nor time shows who has
 * an account in the earlier system: the hash of an unknown user is computed beside the hook, and every refusal is held back
 * (runtime/refusal-times.ts), as it is where hashes are dearer than a new one. A hook that fails is a refusal. Cost: 1 password hash; for a user who
 * is marked 1 RPC beside it.
 */
export async function verifyStoredPassword(
  at: Pick<PageRequest, "context" | "isolate">,
  typed: Typed,
  stored: Stored,
): Promise<boolean> {
  const leastMs = refusalMs(stored.dearestMs, spellingsOf(typed.password).length);
  const { isVerified } = await holdRefusal(leastMs, async () => {
    const isVerified = await verify(at, typed, stored);
    return { isVerified, isRefused: !isVerified || stored.record?.status !== "active" };
  });
  return isVerified;
}

async function verify(
  { context, isolate }: Pick<PageRequest, "context" | "isolate">,
  { username, password }: Typed,
  { hash, record }: Stored,
): Promise<boolean> {
  if (!isHookEnabled(context, "legacyPassword")) return verifyPassword(password, hash);
  const isActive = record?.status === "active";
  const isLegacy = hash !== undefined && isLegacyHash(hash);
  const askedHook = isLegacy && isActive;
  const { isVerified } = await isolate.refusalTimes.hold(async () => {
    const [isRight, isLegacyRight] = await Promise.all([
      verifyPassword(password, isLegacy ? undefined : hash),
      askedHook && askHook(context, { sub: record.sub, username, password }),
    ]);
    const isVerified = isRight || isLegacyRight;
    // Also of a suspended person with the right password, who is refused too.
    return { isVerified, askedHook, isRefused: !isVerified || !isActive };
  });
  return isVerified;
}

async function askHook(context: RequestContext<AuthEnv>, request: Typed & { readonly sub: string }): Promise<boolean> {
  const result = await callHook(context, "legacyPassword", request, (value) => {
    if (typeof value !== "boolean") throw new UnusableResult("the result is neither true nor false");
    return value;
  });
  return result.kind === "answered" && result.value;
}
