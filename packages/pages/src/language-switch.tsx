import { describeLanguage, type Language } from "./languages.ts";
import type { LayoutKey } from "./messages.ts";
import type { Translator } from "./translator.ts";

/** Where the switch posts to. */
export const languagePath = "/flow/language";

interface Props {
  readonly t: Translator<LayoutKey>;
  readonly languages: readonly Language[];
  readonly location: string;
}

/**
 * **The language of the page, which opens a list of the others**, each in its own. The chosen one is kept in a cookie, and the browser comes back to
 * `location`, a path and query.
 */
export function LanguageSwitch({ t, languages, location }: Props) {
  const { name } = describeLanguage(t.language);
  return (
    <details class="languages">
      <summary aria-label={t("language.label", { language: name })} id="language">
        {name}
      </summary>
      <form method="post" action={languagePath}>
        <input type="hidden" name="to" value={location} />
        {languages
          .filter((other) => other !== t.language)
          .map((other) => (
            <button type="submit" class="link" name="language" value={other} lang={other} id={`language-${other}`}>
              {describeLanguage(other).name}
            </button>
          ))}
      </form>
    </details>
  );
}
