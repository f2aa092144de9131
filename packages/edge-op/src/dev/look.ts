import { readBranding } from "@edge-op/pages/branding";
import { styleSheet } from "@edge-op/pages/style-sheet";

/** The settings that a person tries, and what they change. */
const tried = {
  DISPLAY_NAME: "Name",
  LOGO_URL: "Logo",
  BRAND_COLOR: "Buttons and links",
  BRAND_COLOR_DARK: "Buttons and links, dark scheme",
  BACKGROUND_COLOR: "Background",
  BACKGROUND_COLOR_DARK: "Background, dark scheme",
} as const;

const names = Object.keys(tried) as (keyof typeof tried)[];
const placeholders: Partial<Record<keyof typeof tried, string>> = { DISPLAY_NAME: "Acme", LOGO_URL: "https://…" };

function givenOf(parameters: URLSearchParams): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, parameters.get(name) ?? ""]));
}

/** The style sheet of every page in these colours, or why they are refused, as at a deployment. */
export function lookStyle(parameters: URLSearchParams): { readonly css?: string; readonly problem?: string } {
  try {
    return { css: styleSheet(readBranding(givenOf(parameters))) };
  } catch (cause) {
    return { problem: (cause as Error).message };
  }
}

/** A `Set-Cookie` value: while the browser has it, the provider's pages have the look (with-development-pages.ts). Without values it ends. */
export function rememberedLook(parameters: URLSearchParams): string {
  const given = names.flatMap((name) => (parameters.get(name) ? [[name, parameters.get(name)!]] : []));
  const isTried = given.length > 0 && lookStyle(parameters).css !== undefined;
  return `dev-look=${new URLSearchParams(given)}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${isTried ? 86_400 : 0}`;
}

/**
 * **The form that tries a look**: name, logo and colours are shown on the provider's real pages, in both schemes and languages, without a new start.
 */
export function lookForm(parameters: URLSearchParams): Markup {
  const { problem } = lookStyle(parameters);
  const pages = [
    html`<a href="/account">Account</a>`,
    html`<a href="/device">Device</a>`,
    html`<a href="/logout">Logout</a>`,
  ];
  return html`<h1>Look</h1>
<p class="muted">The look applies to all pages in this browser, for a day. To keep it, put the values in the settings.</p>
${problem === undefined ? [] : [html`<p role="alert">${problem}</p>`]}
<form><dl>${names.map(
    (name) => html`<dt><label for="${name}">${tried[name]}</label></dt>
<dd><input id="${name}" name="${name}" value="${parameters.get(name) ?? ""}" placeholder="${placeholders[name] ?? "#rrggbb"}" autocomplete="off"> <code>${name}</code></dd>`,
  )}</dl><p><button>Show</button> <a href="/dev/look">Reset</a></p></form>
<nav aria-label="Pages">${pages}</nav>`;
}

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
