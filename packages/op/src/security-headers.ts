import type { Settings } from "@edge-op/shared/http/settings";

/**
 * **Headers of every response of this origin**: never guess a media type, never tell other sites our URLs (they can hold
 * codes and states), and stay on TLS. What a Worker set itself stands; framing and scripts are the business of pages.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.2.4
 */
export function addSecurityHeaders(settings: Settings, response: Response): Response {
  const guarded = new Response(response.body, response);
  const { headers } = guarded;
  headers.set("X-Content-Type-Options", "nosniff");
  if (!headers.has("Referrer-Policy")) headers.set("Referrer-Policy", "no-referrer");
  if (settings.issuer.startsWith("https:")) {
    headers.set("Strict-Transport-Security", "max-age=31536000; includeSubDomains");
  }
  return guarded;
}
