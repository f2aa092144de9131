import type { ProvenKey } from "@edge-op/shared/callers/read-proof";
import type { OpenDecision } from "@edge-op/shared/control/settle";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { ShownError } from "../pages/serve-page.tsx";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";

/**
 * **`request_uri` values**: references that this provider issued. URLs are never fetched.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9126#section-2.2
 */

const prefix = "urn:ietf:params:oauth:request_uri:";

export function formatRequestUri(id: string): string {
  return prefix + id;
}

/** `undefined` for any other URI. */
export function parseRequestUri(uri: string | undefined): string | undefined {
  return uri?.startsWith(prefix) ? uri.slice(prefix.length) : undefined;
}

/** The lifetime of a `request_uri`: enough for a redirect on a slow network and reloads of the page. */
export const pushedRequestSeconds = 90;
/** The time in which a person must complete an authorization that was pushed. */
export const completionMs = 60 * 60_000;

/**
 * **Spends a pushed request directly before its response is sent.** Opening it does not spend it, so that a reload of `/authorize` works. At most one
 * of the authorizations started from a pushed request is completed. Cost: 1 object call, 0 if the request was not pushed.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9126#section-4
 */
export async function spendPushedRequest(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  id: string | undefined,
): Promise<void> {
  if (id === undefined) return;
  if ((await isolate.challenges.take(context, "authorization-request", id)) !== undefined) return;
  throw new ShownError("invalid_request_uri", "pushed-request-spent", {
    description: "The request was already completed or has expired.",
  });
}

/**
 * **Stores what a client receives, while the decision about it is committed.** `store` writes a row that only its result names. The result is
 * returned after the commit, so the row of a refused request, or of a decision that is made again, has a name that nobody knows, until it expires.
 * Depth: that of `store` in a busy isolate and after a pause.
 *
 * @returns The result of `store`. Throws what the commit or the proof throws, or what `store` throws.
 */
export async function storeBesideCommit<Stored>(
  decision: OpenDecision,
  proof: ProvenKey | undefined,
  store: () => Promise<Stored>,
): Promise<Stored> {
  const commit = async () => {
    await decision.commit();
    await proof?.spend();
  };
  const [stored] = await Promise.all([store(), commit()]);
  return stored;
}
