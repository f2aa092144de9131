export interface PageForm {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * **Finds the first form with an input of this name in a page's HTML**, including its hidden fields and the buttons that name it; `undefined` if
 * there is none. Works in k6 and in Node, which share no HTML parser.
 */
export function findForm(html: string, inputName: string): PageForm | undefined {
  for (const [, attributes = "", inner = ""] of html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)) {
    const id = attribute(attributes, "id");
    const outside = id === undefined ? [] : controlsIn(html).filter((tag) => attribute(tag, "form") === id);
    const inputs = [...controlsIn(inner), ...outside];
    if (!inputs.some((tag) => attribute(tag, "name") === inputName)) continue;
    const fields: Record<string, string> = {};
    for (const tag of inputs) {
      const name = attribute(tag, "name");
      if (name !== undefined && attribute(tag, "type") === "hidden") fields[name] = attribute(tag, "value") ?? "";
    }
    return { action: attribute(attributes, "action") ?? "", fields };
  }
  return undefined;
}

function controlsIn(html: string): string[] {
  return [...html.matchAll(/<(?:input|button)\b([^>]*)>/g)].map(([, tag = ""]) => tag);
}

function attribute(tag: string, name: string): string | undefined {
  const found = new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1];
  return found
    ?.replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}
