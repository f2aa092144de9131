import { OAuthError } from "../oauth/errors.ts";

/**
 * **Selects the handler of a request's method** among those of its path. HEAD uses the handler of GET; the platform omits the body
 * (RFC 9110 §9.3.2). Any other method is 405 with `Allow` (§15.5.6).
 */
export function handlerOf<Handler>(
  handlers: Readonly<Partial<Record<string, Handler>>>,
  method: string,
  allow = Object.keys(handlers).join(", "),
): Handler {
  const name = method === "HEAD" ? "GET" : method;
  const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
  if (handler !== undefined) return handler;
  throw new OAuthError("method_not_allowed", "method-not-allowed", { headers: { Allow: allow } });
}
