import { describeLanguage, type Language } from "./languages.ts";
import type { LayoutKey } from "./messages.ts";
import type { Translator } from "./translator.ts";

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
