import type { Settings } from "../config/settings.ts";

/**
 * **Headers of every response of this provider**: never guess a media type, and stay on TLS. Given by the Worker that makes the
 * response, so that they are there on a route of its own too and the front door passes answers on untouched. What only
 * pages and redirects need, framing and referrers, is theirs.
 */
const onTls = {
  "X-Content-Type-Options": "nosniff",
  "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
} as const;
const local = { "X-Content-Type-Options": "nosniff" } as const;

export function securityHeaders({ issuer }: Pick<Settings, "issuer">): Readonly<Record<string, string>> {
  return issuer.startsWith("https:") ? onTls : local;
}
