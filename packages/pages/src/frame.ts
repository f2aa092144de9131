import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { Branding } from "./branding.ts";
import type { Catalog } from "./catalog.ts";
import { readCookie } from "./cookies.ts";
import { chooseLanguage, readLocales } from "./languages.ts";
import type { PageFrame } from "./layout.tsx";
import type { LayoutKey } from "./messages.ts";
import type { Translator } from "./translator.ts";

/**
 * **The frame of a page with the texts of a catalog.** The language is the one that the person chose with the switch, then as in languages.ts.
 * `uiLocales` are by default those of the page's URL, so an application may also link to `/account?ui_locales=de`.
 */
export async function createFrame<Key extends string>(
  context: RequestContext<unknown>,
  request: ReceivedRequest,
  branding: Branding,
  catalog: Catalog<Key | LayoutKey>,
  uiLocales = readLocales(new URL(request.url).searchParams.get("ui_locales")),
): Promise<PageFrame & { readonly t: Translator<Key | LayoutKey> }> {
  const chosen = readCookie(context, request, "op-language") ?? [];
  const language = chooseLanguage(
    [chosen, uiLocales].flat(),
    request.headers.get("accept-language"),
    catalog.languages,
  );
  return {
    t: await catalog.translatorFor(language),
    languages: catalog.languages,
    branding,
    location: locationOf(request),
  };
}

/** The result of a form cannot be loaded again. */
function locationOf({ method, url }: ReceivedRequest): string | undefined {
  if (method !== "GET") return undefined;
  const { pathname, search } = new URL(url);
  return pathname + search;
}
