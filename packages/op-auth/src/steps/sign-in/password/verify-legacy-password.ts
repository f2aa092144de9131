import { callHook, hookDeadlineMs, isHookEnabled, UnusableResult } from "@edge-op/shared/hooks/call-hook";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { verifyPassword } from "@edge-op/shared/secrets/password-hash";
import { isLegacyHash } from "@edge-op/shared/secrets/stored-hash";
import type { PasswordRecord } from "@edge-op/shared/users/credentials";
import type { AuthEnv } from "../../../auth-env.ts";

interface Stored {
  readonly hash: string | undefined;
  readonly record: Pick<PasswordRecord, "sub" | "status"> | undefined;
}

interface Typed {
  readonly username: string;
  readonly password: string;
}

/**
 * **Verifies a password, by the hook `legacyPassword` if the stored hash says so**, after the limits of attempts. The hash of an unknown user is computed beside the
 * hook, and while the hook is enabled every refusal takes as long as the hook may: neither work nor time shows who has an account in the earlier system. A hook that fails is a
 * refusal. Cost: 1 password hash; for a user who is marked 1 RPC beside it.
 */
export async function verifyStoredPassword(
  context: RequestContext<AuthEnv>,
  { username, password }: Typed,
  { hash, record }: Stored,
): Promise<boolean> {
  if (!isHookEnabled(context, "legacyPassword")) return verifyPassword(password, hash);
  const floor = startFloor();
  const isActive = record?.status === "active";
  const isLegacy = hash !== undefined && isLegacyHash(hash);
  const [isRight, isLegacyRight] = await Promise.all([
    verifyPassword(password, isLegacy ? undefined : hash),
    isLegacy && isActive && askHook(context, { sub: record.sub, username, password }),
  ]);
  const isVerified = isRight || isLegacyRight;
  // Also for a suspended person with the right password, who is refused too.
  if (!isVerified || !isActive) await floor.passed;
  floor.end();
  return isVerified;
}

function startFloor() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, hookDeadlineMs.legacyPassword);
  return { passed: promise, end: () => clearTimeout(timer) };
}

async function askHook(context: RequestContext<AuthEnv>, request: Typed & { readonly sub: string }): Promise<boolean> {
  const result = await callHook(context, "legacyPassword", request, (value) => {
    if (typeof value !== "boolean") throw new UnusableResult("the result is neither true nor false");
    return value;
  });
  return result.kind === "answered" && result.value;
}
