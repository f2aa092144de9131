import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { Branding } from "./branding.ts";
import { readCookie } from "./cookies.ts";
import { chooseLanguage, readLocales } from "./languages.ts";
import type { PageFrame } from "./layout.tsx";
import type { LayoutMessageKey } from "./messages.ts";
import { type Catalog, createTranslator, type Translator } from "./translator.ts";

/**
 * **The frame of a page with the texts of a catalog.** The language is the one that the person chose with the switch, then as in languages.ts.
 * `uiLocales` are by default those of the page's URL, so an application may also link to `/account?ui_locales=de`.
 */
export function createFrame<Key extends string>(
  context: RequestContext<unknown>,
  request: ReceivedRequest,
  branding: Branding,
  catalog: Catalog<Key | LayoutMessageKey>,
  uiLocales = readLocales(new URL(request.url).searchParams.get("ui_locales")),
): PageFrame & { readonly t: Translator<Key | LayoutMessageKey> } {
  const chosen = readCookie(context, request, "op-language") ?? [];
  const language = chooseLanguage([chosen, uiLocales].flat(), request.headers.get("accept-language"));
  return { t: createTranslator(catalog, language), branding, location: locationOf(request) };
}

/** The result of a form cannot be loaded again. */
function locationOf({ method, url }: ReceivedRequest): string | undefined {
  if (method !== "GET") return undefined;
  const { pathname, search } = new URL(url);
  return pathname + search;
}
