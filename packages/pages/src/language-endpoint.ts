import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { browserCookieSeconds, formatCookie } from "./cookies.ts";
import { findLanguage, type Language } from "./languages.ts";
import { redirect } from "./respond-page.ts";

/**
 * **`POST /flow/language`**: keeps the chosen language in a cookie and goes back to the page. It has no form token: a foreign form could change the
 * language of pages, and nothing else. Cost: 0.
 */
export async function changeLanguage(context: RequestContext<unknown>, request: ReceivedRequest): Promise<Response> {
  const form = readForm(request);
  const language = findLanguage(form.get("language") ?? "");
  if (language === undefined) {
    throw new OAuthError("invalid_request", "language-unknown", { description: "The language is unknown." });
  }
  return redirect(ownLocation(form.get("to") ?? "/"), [languageCookie(context, language)]);
}

/** The `Set-Cookie` value that keeps a chosen language. */
export function languageCookie(context: RequestContext<unknown>, language: Language): string {
  return formatCookie(context, "op-language", language, browserCookieSeconds);
}

const ownOrigin = "https://own.invalid";

/** A path and query as a browser reads them, without tabs and backslashes that would lead to another origin; `/` for anything else. */
export function ownLocation(text: string): string {
  const url = URL.parse(text, ownOrigin);
  if (url === null || url.origin !== ownOrigin || url.pathname.startsWith("//")) return "/";
  return url.pathname + url.search;
}
