import type { Settings } from "../config/settings.ts";
import { securityHeaders } from "./security-headers.ts";

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
