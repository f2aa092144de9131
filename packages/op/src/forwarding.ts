import { certificateHeaders, isTrustedProxy } from "@edge-op/protocol/mtls/client-certificate";
import { OAuthError, UnavailableError } from "@edge-op/protocol/oauth/errors";
import { readSettings, type Settings, type SettingsVariables } from "@edge-op/shared/config/settings";
import { renderJson, reportFailure } from "@edge-op/shared/http/failure";
import { finishResponse } from "@edge-op/shared/http/finish-response";
import { answerElsewhere } from "@edge-op/shared/http/own-host";
import { requestIdOf } from "@edge-op/shared/http/request-context";
import { anyOrigin } from "@edge-op/shared/http/response-headers";
import type { Execution } from "@edge-op/shared/http/router";
import { type OwnedPaths, type Owner, ownedPaths } from "@edge-op/workers/paths";
import type { ServiceBindings } from "./isolate.ts";

const owners = Object.values<OwnedPaths>(ownedPaths);
const ownerOfPath: ReadonlyMap<string, Owner> = new Map(
  owners.flatMap(({ binding, paths }) => paths.map((path) => [path, binding] as const)),
);
const ownerOfTree: ReadonlyMap<string, Owner> = new Map(
  owners.flatMap(({ binding, trees }) => trees.map((tree) => [tree, binding] as const)),
);

/** Text in which `URL` would change nothing: no escape, no dot segment. */
const plainPath = /^https?:\/\/[^/?#\\]+(\/(?:[\w/-]|\.(?=\w))*)(?:[?#]|$)/;

/** The path as `URL` reads it; a `URL` for each request would be 3 % of the CPU of discovery. */
export function pathOf(url: string): string {
  return plainPath.exec(url)?.[1] ?? new URL(url).pathname;
}

/** The Worker that owns a path, by the exact path or its first segment. */
export function findOwner(pathname: string): Owner | undefined {
  return ownerOfPath.get(pathname) ?? ownerOfTree.get(`/${pathname.split("/", 2)[1] ?? ""}`);
}

/** Calls the owner of a path. */
export type CallOwner<Env> = (
  owner: Owner,
  request: Request,
  env: Env,
  execution: Execution,
) => Response | Promise<Response>;

/**
 * **Forwards a request to the Worker that owns its path**, and returns its response, both unchanged except for forged certificates. On your own zone,
 * the Workers' routes can be the same table. Cost: one hop; none in the compact shape, where the owner is a function.
 */
export const callWorker: CallOwner<ServiceBindings> = (owner, request, env) => env[owner].fetch(request);

/** Few requests do; the others are forwarded without waiting. */
function carriesCertificate({ headers }: Request): boolean {
  return certificateHeaders.some((name) => headers.has(name));
}

/**
 * The request without the headers of a proxy that terminates TLS, unless the trusted one has sent it. Endpoints ignore these headers too; this
 * protects those that do not know them. Its `cf`, which contains the certificate that the platform verified, is kept.
 */
async function withoutForgedCertificate(settings: Settings, request: Request): Promise<Request> {
  if (await isTrustedProxy(settings, request.headers)) return request;
  const headers = new Headers(request.headers);
  for (const name of certificateHeaders) headers.delete(name);
  return new Request(request, { headers });
}

/** Wraps `call` so that only the own host is served (own-host.ts) and failures become responses: an owner that throws is unavailable, 503. */
export function forwardBy<Env extends SettingsVariables>(call: CallOwner<Env>) {
  return async (...[owner, request, env, execution]: Parameters<CallOwner<Env>>): Promise<Response> => {
    const elsewhere = answerElsewhere(request, env);
    if (elsewhere !== undefined) {
      return elsewhere instanceof Error ? refuse(readSettings(env), request, elsewhere) : elsewhere;
    }
    try {
      const forwarded = carriesCertificate(request)
        ? await withoutForgedCertificate(readSettings(env), request)
        : request;
      return await call(owner, forwarded, env, execution);
    } catch (cause) {
      return refuse(readSettings(env), request, new UnavailableError(`Worker ${owner}`, cause));
    }
  };
}

export function refuseUnknownPath(settings: Settings, request: Request): Response {
  return refuse(settings, request, new OAuthError("not_found", "path-unknown", { headers: { Vary: "Accept" } }));
}

function refuse(settings: Settings, request: Request, error: Error): Response {
  const requestId = requestIdOf(request);
  const failure = reportFailure(error, { requestId });
  // A page of another origin may read that no Worker responded, because the response contains no personal data.
  const more = request.headers.has("Origin") ? anyOrigin : undefined;
  return finishResponse({ settings, requestId, counts: undefined, endpoint: undefined }, renderJson(failure), more);
}
