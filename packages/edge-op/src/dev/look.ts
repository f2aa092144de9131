import { readBranding } from "@edge-op/pages/branding";
import { styleSheet } from "@edge-op/pages/style-sheet";
import { html, type Markup } from "./markup.ts";

/** The settings that a person tries, and what they colour. */
const colors = {
  BRAND_COLOR: "Buttons and links",
  BRAND_COLOR_DARK: "Buttons and links, dark scheme",
  BACKGROUND_COLOR: "Background",
  BACKGROUND_COLOR_DARK: "Background, dark scheme",
} as const;

const names = Object.keys(colors) as (keyof typeof colors)[];

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

/** A `Set-Cookie` value: while the browser has it, the provider's pages have the colours (with-development-pages.ts). Without colours it ends. */
export function rememberedLook(parameters: URLSearchParams): string {
  const given = names.flatMap((name) => (parameters.get(name) ? [[name, parameters.get(name)!]] : []));
  const isTried = given.length > 0 && lookStyle(parameters).css !== undefined;
  return `dev-look=${new URLSearchParams(given)}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${isTried ? 86_400 : 0}`;
}

/** **The form that tries a look**: the colours are shown on the provider's real pages, in both schemes and languages, without a new start. */
export function lookForm(parameters: URLSearchParams): Markup {
  const { problem } = lookStyle(parameters);
  const pages = [
    html`<a href="/account">Account</a>`,
    html`<a href="/device">Device</a>`,
    html`<a href="/logout">Logout</a>`,
  ];
  return html`<h1>Look</h1>
<p class="muted">The colours apply to all pages in this browser, for a day. To keep them, put them in the settings.</p>
${problem === undefined ? [] : [html`<p role="alert">${problem}</p>`]}
<form><dl>${names.map(
    (name) => html`<dt><label for="${name}">${colors[name]}</label></dt>
<dd><input id="${name}" name="${name}" value="${parameters.get(name) ?? ""}" placeholder="#rrggbb" autocomplete="off"> <code>${name}</code></dd>`,
  )}</dl><p><button>Show</button> <a href="/dev/look">Reset</a></p></form>
<nav aria-label="Pages">${pages}</nav>`;
}
