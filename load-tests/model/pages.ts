/** **Tables in a page**, between `<!-- model: name -->` and `<!-- end -->`: so that every figure of a page comes from the model. */

export type Tables = Readonly<Record<string, () => string>>;

function marked(name: string): RegExp {
  return new RegExp(`(<!-- model: ${name} -->\\n)((?:(?!<!-- ).*\\n)*)(<!-- end -->)`);
}

export function writeTables(page: string, tables: Tables): string {
  let text = page;
  for (const [name, make] of Object.entries(tables)) {
    if (!marked(name).test(text)) throw new Error(`the page has no place for the table ${name}`);
    const made = make();
    text = text.replace(marked(name), (_, open: string, __, close: string) => `${open}${made}\n${close}`);
  }
  return text;
}

/** The table of a page, without its markers. */
export function readTable(page: string, name: string): string | undefined {
  return marked(name).exec(page)?.[2]?.trimEnd();
}
