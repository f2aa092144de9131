import { challengeResponse, noStore } from "./challenges.ts";
import { ProtectedResource, type ProtectedResourceOptions, type ResourceAuth } from "./protected-resource.ts";
import { isMetadataPath, protectedResourceMetadataUrl } from "./protected-resource-metadata.ts";
import type { TokenClaims } from "./token-validation.ts";

export { insufficientScope, insufficientUserAuthentication } from "./step-up.ts";

/**
 * **The response to a token of another organisation than the one whose data a request names**, or of none; `undefined` if it is the same. Compare the
 * organisation of the *data*: one that the request names proves nothing.
 *
 * @param claims `props` of a validated token
 * @param organization an `org_id`
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-3.1
 */
export function requireOrganization(
  auth: Pick<ResourceAuth, "audience"> & Partial<Pick<ResourceAuth, "scheme" | "resourceMetadataUrl">>,
  claims: { readonly org_id?: unknown },
  organization: string,
): Response | undefined {
  if (organization !== "" && claims.org_id === organization) return undefined;
  return challengeResponse([
    {
      scheme: auth.scheme ?? "Bearer",
      error: "insufficient_scope",
      description: "The token does not belong to this organization.",
      scope: [],
      resourceMetadata: auth.resourceMetadataUrl ?? protectedResourceMetadataUrl(auth.audience),
    },
  ]);
}

/**
 * **CORS for clients in browsers**, of any origin: a request is authenticated by its token, never by a cookie. A header that the
 * application has set is kept.
 */
export function addCors(request: Request, response: Response): Response {
  const origin = request.headers.get("Origin");
  // The socket of an upgraded connection cannot be copied.
  if (origin === null || response.status === 101) return response;
  const withCors = new Response(response.body, response);
  const { headers } = withCors;
  if (!headers.has("Access-Control-Allow-Origin")) {
    headers.set("Access-Control-Allow-Origin", "*");
    headers.append("Access-Control-Expose-Headers", "WWW-Authenticate, DPoP-Nonce, Retry-After, Mcp-Session-Id");
  }
  return withCors;
}

export function preflightResponse(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      "Access-Control-Allow-Methods": "*",
      // Fetch §4.9: the wildcard does not cover Authorization.
      "Access-Control-Allow-Headers": "Authorization, *",
      "Access-Control-Max-Age": "86400",
    },
  });
}

/** The platform's execution context. */
export interface Execution {
  waitUntil(promise: Promise<unknown>): void;
}

/** The context of a handler, with the token's claims and the verified facts about it. */
export type ResourceContext<Props> = Execution & { readonly props: Props; readonly auth: ResourceAuth };

/** An object with `fetch`, or a `WorkerEntrypoint` class. */
export type ResourceHandler<Env, Props> =
  | { fetch(request: Request, env: Env, ctx: ResourceContext<Props>): Response | Promise<Response> }
  | (new (
      ctx: ResourceContext<Props>,
      env: Env,
    ) => { fetch(request: Request): Response | Promise<Response> });

export interface OAuthResourceServerOptions<Env, Props> extends ProtectedResourceOptions<Env, Props> {
  /** Serves the requests of the resource and of the paths below it. */
  readonly handler: ResourceHandler<Env, Props>;
}

/**
 * **A Worker that is one protected resource**, an API or an MCP server: `export default new OAuthResourceServer({ … })`. Serves the metadata,
 * challenges requests without a valid token, and calls the handler for the others. Options and handler are those of the class with this name in
 * Cloudflare's library, with two differences: `requiredScopes` are enforced, and bound tokens are supported.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9728
 */
export class OAuthResourceServer<Env, Props = TokenClaims> {
  /**
   * `env` and `ctx` are those of Workers; other runtimes have neither. It is a property of the object, which needs no `this`: Deno accepts no
   * method of a class as the handler of a module, and Bun calls it on another object.
   */
  readonly fetch: (request: Request, env?: Env, ctx?: Execution) => Promise<Response>;
  readonly #protected: ProtectedResource<Env, Props>;
  readonly #handler: ResourceHandler<Env, Props>;
  readonly #path: string;
  readonly #metadataPath: string;

  constructor({ handler, ...options }: OAuthResourceServerOptions<Env, Props>) {
    this.#protected = new ProtectedResource(options);
    this.#handler = handler;
    this.#path = new URL(this.#protected.resource).pathname;
    this.#metadataPath = new URL(this.#protected.metadataUrl).pathname;
    this.fetch = (request, env, ctx = detached()) => this.#serve(request, env as Env, ctx);
  }

  async #serve(request: Request, env: Env, ctx: Execution): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (isMetadataPath(pathname)) return addCors(request, this.#serveMetadata(request, pathname));
    if (!isBelow(pathname, this.#path)) return new Response(null, { status: 404 });
    if (request.method === "OPTIONS" && request.headers.has("Access-Control-Request-Method")) {
      return addCors(request, preflightResponse());
    }
    const authentication = await this.#protected.authenticate(request, env);
    if (!authentication.ok) return addCors(request, authentication.response);
    const context = Object.assign(ctx, { props: authentication.props, auth: authentication.auth });
    const handler = this.#handler;
    const response = await (typeof handler === "function"
      ? new handler(context, env).fetch(request)
      : handler.fetch(request, env, context));
    return addCors(request, response);
  }

  #serveMetadata({ method }: Request, pathname: string): Response {
    if (method === "OPTIONS") return preflightResponse();
    if (pathname !== this.#metadataPath) return new Response(null, { status: 404 });
    if (method !== "GET" && method !== "HEAD") {
      return new Response(null, { status: 405, headers: { Allow: "GET, HEAD, OPTIONS" } });
    }
    const response = Response.json(this.#protected.metadata, { headers: noStore });
    return method === "HEAD" ? new Response(null, response) : response;
  }
}

/** Outside Workers, work that outlives the response goes on by itself. */
function detached(): Execution {
  return { waitUntil: (promise) => void promise.catch(console.error) };
}

function isBelow(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(path.endsWith("/") ? path : `${path}/`);
}
