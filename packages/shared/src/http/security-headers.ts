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
