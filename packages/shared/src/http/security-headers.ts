import type { Settings } from "./settings.ts";

/**
 * **Headers of every response of this provider**: never guess a media type, never tell other sites our URLs (they can hold
 * codes and states), and stay on TLS. Set by the Worker that makes the response, so that they are there on a route of its
 * own too and the front door passes answers on untouched. What is set already stands; framing is the business of pages.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.2.4
 */
export function setSecurityHeaders(settings: Settings, { headers }: Response): void {
  headers.set("X-Content-Type-Options", "nosniff");
  if (!headers.has("Referrer-Policy")) headers.set("Referrer-Policy", "no-referrer");
  if (settings.issuer.startsWith("https:")) {
    headers.set("Strict-Transport-Security", "max-age=31536000; includeSubDomains");
  }
}
