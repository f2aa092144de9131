import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { SettingsVariables } from "../config/settings.ts";
import { isLoopback } from "./client-url.ts";
import { prefersPage } from "./prefers-page.ts";

type Variables = Pick<SettingsVariables, "ISSUER" | "MTLS_ORIGIN" | "TRUST_FORWARDED_HEADERS">;

const isOfConsole = /^\/(console(\/|$)|assets\/)/;

/**
 * **The response to a request for another host, or its refusal**, `undefined` for one of this deployment: its pages are of one origin, that of the
 * issuer, whatever routes, `workers.dev` addresses or host headers lead to it. GET and HEAD are redirected; anything else is 421 (RFC 9110 §15.5.20).
 * Other hosts that stay: the one for client certificates, except for pages; `/health`, for probes; the console, which may have an origin of its own
 * and whose sign-in needs a registered callback there, with its assets; a trusted proxy's, which decides itself; and in development, except for
 * pages, since containers and tests have other names for this machine. Cost: 0.
 */
export function answerElsewhere(request: Request, env: Variables): Response | OAuthError | undefined {
  const { ISSUER: issuer, TRUST_FORWARDED_HEADERS: isBehindProxy } = env;
  const { url, method, headers } = request;
  // Before anything is parsed, because nearly every request is for the own host.
  if (url.startsWith(issuer) && url[issuer.length] === "/") return undefined;
  // A wrong setting is reported where it is read.
  if (!URL.canParse(issuer) || isBehindProxy === "true" || headers.has("client-cert-proxy-key")) return undefined;
  const own = new URL(issuer);
  const { host, hostname, pathname, search } = new URL(url);
  if (host === own.host || pathname === "/health" || isOfConsole.test(pathname)) return undefined;
  const isDevelopment = isLoopback(own.hostname);
  // Tools and tests reach an issuer of any name on this machine.
  if (isLoopback(hostname) && !isDevelopment) return undefined;
  if ((isDevelopment || host === hostOf(env.MTLS_ORIGIN)) && !prefersPage(request)) return undefined;
  if (method !== "GET" && method !== "HEAD") {
    const description = "This host is not that of the issuer.";
    return new OAuthError("invalid_request", "host-foreign", { status: 421, description });
  }
  const headersOf = { Location: issuer + pathname + search, "Cache-Control": "no-store" };
  return new Response(null, { status: 302, headers: headersOf });
}

function hostOf(origin: string | undefined): string | undefined {
  return origin !== undefined && URL.canParse(origin) ? new URL(origin).host : undefined;
}
