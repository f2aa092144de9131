import { describeLanguage, type Language, languages } from "./languages.ts";

/** Where the switch posts to. */
export const languagePath = "/flow/language";

/**
 * **Buttons for the other languages**, each in its own. The chosen one is kept in a cookie, and the browser comes back to `location`, a path and
 * query.
 */
export function LanguageSwitch({ language, location }: { readonly language: Language; readonly location: string }) {
  return (
    <form method="post" action={languagePath} class="languages">
      <input type="hidden" name="to" value={location} />
      {languages
        .filter((other) => other !== language)
        .map((other) => (
          <button type="submit" class="link" name="language" value={other} lang={other} id={`language-${other}`}>
            {describeLanguage(other).name}
          </button>
        ))}
    </form>
  );
}
