import { OAuthError } from "@edge-op/protocol/oauth/errors";

/** The methods of a path as `Allow` lists them (RFC 9110 §10.2.1): HEAD is supported where GET is. */
export function allowedMethods(methods: readonly string[]): string {
  return methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])).join(", ");
}

/**
 * **Selects the handler of a request's method** among those of its path. HEAD uses the handler of GET; the platform omits the body
 * (RFC 9110 §9.3.2). Any other method is 405 with `Allow` (§15.5.6).
 */
export function handlerOf<Handler>(
  handlers: Readonly<Partial<Record<string, Handler>>>,
  method: string,
  allow = allowedMethods(Object.keys(handlers)),
): Handler {
  const name = method === "HEAD" ? "GET" : method;
  const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
  if (handler !== undefined) return handler;
  throw new OAuthError("method_not_allowed", "method-not-allowed", { headers: { Allow: allow } });
}
