import { describeLanguage, type Language, languages } from "./languages.ts";

/** Where the switch posts to. */
export const languagePath = "/flow/language";

/**
 * **Buttons for the other languages**, each in its own. The chosen one is kept in a cookie, and the browser comes back to `location`, a path and
 * query. With `formId` they are buttons of that form of the page, whose endpoint keeps what was typed in it.
 */
export function LanguageSwitch(props: {
  readonly language: Language;
  readonly location: string;
  readonly formId?: string | undefined;
}) {
  const { language, location, formId } = props;
  const others = languages.filter((other) => other !== language);
  const inForm = formId === undefined ? {} : { form: formId, formnovalidate: true };
  const buttons = others.map((other) => (
    <button type="submit" class="link" name="language" value={other} lang={other} id={`language-${other}`} {...inForm}>
      {describeLanguage(other).name}
    </button>
  ));
  if (formId !== undefined) return <div class="languages">{buttons}</div>;
  return (
    <form method="post" action={languagePath} class="languages">
      <input type="hidden" name="to" value={location} />
      {buttons}
    </form>
  );
}
