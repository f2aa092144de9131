import { OAuthError } from "../oauth/errors.ts";

/**
 * **The handler of a request's method**, among those of its path; HEAD has GET's, without the body, which the platform leaves
 * out (RFC 9110 §9.3.2). Any other method is 405 with `Allow` (§15.5.6).
 */
export function handlerOf<Handler>(
  handlers: Readonly<Partial<Record<string, Handler>>>,
  method: string,
  allow?: string,
): Handler {
  const name = method === "HEAD" ? "GET" : method;
  const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
  if (handler !== undefined) return handler;
  const headers = { Allow: allow ?? Object.keys(handlers).join(", ") };
  throw new OAuthError("method_not_allowed", `${method} is not allowed`, { headers });
}
