import { readSettings, type Settings } from "@edge-op/shared/config/settings";
import { errorResponse } from "@edge-op/shared/http/error-response";
import { finishResponse } from "@edge-op/shared/http/finish-response";
import { requestIdOf } from "@edge-op/shared/http/request-context";
import { OAuthError, UnavailableError } from "@edge-op/shared/oauth/errors";
import type { FrontDoorEnv, ServiceBindings } from "./front-door-env.ts";

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

/** A Worker that throws instead of answering is away: 503, to be tried again. */
export async function forward(env: FrontDoorEnv, owner: Owner, request: Request): Promise<Response> {
  try {
    return await env[owner].fetch(request);
  } catch (cause) {
    return refuse(readSettings(env), request, new UnavailableError(`Worker ${owner}`, cause));
  }
}

export function refuseUnknownPath(settings: Settings, request: Request): Response {
  return refuse(settings, request, new OAuthError("not_found", "no such path", { headers: { Vary: "Accept" } }));
}

function refuse(settings: Settings, request: Request, error: Error): Response {
  const response = errorResponse(error, requestIdOf(request));
  return finishResponse({ settings, counts: undefined }, response);
}
