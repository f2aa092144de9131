import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { browserCookieSeconds, formatCookie } from "./cookies.ts";
import { describeLanguage, findLanguage, type Language } from "./languages.ts";
import type { LayoutKey } from "./messages.ts";
import { redirect } from "./respond-page.ts";
import type { Translator } from "./translator.ts";

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

/** Where the switch posts to. */
export const languagePath = "/flow/language";

interface Props {
  readonly t: Translator<LayoutKey>;
  readonly languages: readonly Language[];
  readonly location: string;
  readonly formId?: string | undefined;
}

/**
 * **The language of the page, which opens a list of the others**, each in its own. The chosen one is kept in a cookie, and the browser comes back to
 * `location`, a path and query. With `formId` the others are buttons of that form of the page, whose endpoint keeps what was typed in it.
 */
export function LanguageSwitch({ t, languages, location, formId }: Props) {
  const { name } = describeLanguage(t.language);
  const inForm = formId === undefined ? {} : { form: formId, formnovalidate: true };
  const buttons = languages
    .filter((other) => other !== t.language)
    .map((other) => (
      <button
        type="submit"
        class="link"
        name="language"
        value={other}
        lang={other}
        id={`language-${other}`}
        {...inForm}
      >
        {describeLanguage(other).name}
      </button>
    ));
  return (
    <details class="languages">
      <summary aria-label={t("language.label", { language: name })} id="language">
        {name}
      </summary>
      {formId === undefined ? (
        <form method="post" action={languagePath}>
          <input type="hidden" name="to" value={location} />
          {buttons}
        </form>
      ) : (
        <div>{buttons}</div>
      )}
    </details>
  );
}
