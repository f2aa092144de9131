/** Text that may stand in a page as it is. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Markup | string | number | readonly Markup[];

/** Escapes every part that is not markup itself: log lines contain values that anyone may have sent. */
export function html(fixed: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const texts = parts.map((part) => {
    if (part instanceof Markup) return part.text;
    if (typeof part === "object") return part.map(({ text }) => text).join("");
    return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  });
  return new Markup(String.raw({ raw: fixed }, ...texts));
}
