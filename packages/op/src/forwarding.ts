import { respondError } from "@edge-op/shared/http/respond-error";
import { OAuthError, UnavailableError } from "@edge-op/shared/oauth/errors";
import type { ServiceBindings } from "./front-door-env.ts";

/**
 * **Passes a request to the Worker that owns its path**, as it came, and the answer back, as it was given. On a zone of
 * one's own the same tables are the routes of the Workers. Cost: one hop.
 */
type Owner = keyof ServiceBindings;

const ownerOfPath: ReadonlyMap<string, Owner> = new Map([
  ["/token", "TOKEN"],
  ["/introspect", "MANAGEMENT"],
  ["/revoke", "MANAGEMENT"],
  ["/userinfo", "USERINFO"],
  ["/authorize", "AUTH"],
  ["/par", "AUTH"],
]);

/** First segments: of everything below them, and of themselves. */
const ownerOfTree: ReadonlyMap<string, Owner> = new Map([
  ["admin", "MANAGEMENT"],
  ["interaction", "AUTH"],
  ["account", "AUTH"],
  ["logout", "AUTH"],
  ["assets", "AUTH"],
]);

export function findOwner(pathname: string): Owner | undefined {
  return ownerOfPath.get(pathname) ?? ownerOfTree.get(pathname.split("/", 2)[1] ?? "");
}

export async function forward(env: ServiceBindings, request: Request): Promise<Response> {
  const owner = findOwner(new URL(request.url).pathname);
  try {
    if (owner === undefined) throw new OAuthError("not_found", "no such path");
    return await askWorker(env, owner, request);
  } catch (error) {
    return respondError(error, request.headers.get("cf-ray") ?? crypto.randomUUID());
  }
}

/** A Worker that throws instead of answering is away: 503, to be tried again. */
async function askWorker(env: ServiceBindings, owner: Owner, request: Request): Promise<Response> {
  try {
    return await env[owner].fetch(request);
  } catch (cause) {
    throw new UnavailableError(`Worker ${owner}`, cause);
  }
}
