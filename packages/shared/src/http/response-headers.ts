import type { Settings } from "../config/settings.ts";

const onTls = {
  "X-Content-Type-Options": "nosniff",
  "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
} as const;
const local = { "X-Content-Type-Options": "nosniff" } as const;

/**
 * **The security headers of every response**: no media type sniffing, and HSTS. The Worker that creates the response sets them, so that they are also
 * present on its own route; the front door forwards responses unchanged. Pages and redirects add headers for framing and referrers.
 */
export function securityHeaders({ issuer }: Pick<Settings, "issuer">): Readonly<Record<string, string>> {
  return issuer.startsWith("https:") ? onTls : local;
}

/**
 * **CORS for endpoints that browser applications call**: discovery, keys, /par, /token, /revoke, UserInfo and the description of
 * the admin API. Any origin, without credentials: the request itself contains what authenticates it, so a foreign page gains
 * nothing.
 *
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export const anyOrigin = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "WWW-Authenticate, DPoP-Nonce, Retry-After, Request-Id, Server-Timing",
} as const;

/** The response to a preflight request; `methods` as in `Allow`. */
export function preflight(settings: Settings, methods: string): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...securityHeaders(settings),
      "Access-Control-Allow-Origin": "*",
      "Access-Control-Allow-Methods": methods,
      // Clients send custom headers, such as MCP-Protocol-Version. The wildcard does not cover Authorization (Fetch §4.9).
      "Access-Control-Allow-Headers": "Authorization, Content-Type, DPoP, *",
      "Access-Control-Max-Age": "86400",
    },
  });
}
