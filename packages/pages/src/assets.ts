/**
 * **The files that pages load, from their own origin**: those of every page, and the scripts of single pages. Each URL contains a hash of the file,
 * so that responses are cached forever.
 */

import { fnv1a } from "@edge-op/protocol/encoding/bytes";
import { readableOn } from "./brand-colors.ts";
import type { Branding } from "./branding.ts";
import { formatLook, inScheme, type Look, readLook } from "./look.ts";
import { styleSheet } from "./style-sheet.ts";

type AssetName = "style.css" | "forms.js" | "icon.svg";

const lookNames: Readonly<Partial<Record<AssetName, string>>> = { "style.css": "look.css", "icon.svg": "look.svg" };

/** A script of single pages, passed to the layout and to {@link serveAsset}. */
export interface Script {
  readonly name: `${string}.js`;
  readonly body: string;
}

interface Asset {
  readonly body: string;
  readonly contentType: string;
  readonly version: string;
}

/**
 * Disables forms after a click: a second click would submit a form whose flow the first one has spent. Going back to the page enables its
 * forms again, and the pressed button shows that it was pressed. A field with `data-digits` submits its form when it contains a code of so many
 * digits, typed, pasted or filled in, and the hint below it says so. A button with `data-show` shows what is typed in the password fields of its
 * form (NIST SP 800-63B-4 §3.1.1.2), until they are sent.
 */
const formsScript = `
"use strict";
addEventListener("submit", (event) => {
  if (event.defaultPrevented) return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "1";
  event.submitter?.setAttribute("aria-busy", "true");
  for (const field of event.target.querySelectorAll("[data-shown]")) field.type = "password";
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
  for (const button of document.querySelectorAll("[aria-busy]")) button.removeAttribute("aria-busy");
});
for (const field of document.querySelectorAll("[data-digits]")) {
  const hint = document.getElementById(field.id + "-hint");
  if (hint) {
    hint.hidden = false;
    const others = field.getAttribute("aria-describedby");
    field.setAttribute("aria-describedby", others ? others + " " + hint.id : hint.id);
  }
  field.addEventListener("input", () => {
    const isCode = /^[\\d\\s-]*$/.test(field.value);
    const isWhole = field.value.replace(/\\D/g, "").length === Number(field.dataset.digits);
    if (isCode && isWhole) field.form.requestSubmit(field.form.querySelector("[type=submit]"));
  });
}
for (const button of document.querySelectorAll("[data-show]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const isShown = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(isShown));
    for (const field of button.form.querySelectorAll("[type=password], [data-shown]")) {
      field.dataset.shown = "1";
      field.type = isShown ? "text" : "password";
    }
  });
}
`.trim();

function icon({ brandColor }: Pick<Look, "brandColor">): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="${brandColor}"/><path d="M16 6.5l7.5 3v5.6c0 4.9-3.1 8.6-7.5 10.4-4.4-1.8-7.5-5.5-7.5-10.4V9.5z" fill="${readableOn(brandColor)}"/><path d="M12.4 16.2l2.6 2.6 4.8-5.2" fill="none" stroke="${brandColor}" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"/></svg>`;
}

function createAsset(contentType: string, body: string): Asset {
  return { body, contentType, version: fnv1a(body).toString(36) };
}

const known = new WeakMap<Branding, Readonly<Record<AssetName, Asset>>>();

function assetsOf(branding: Branding): Readonly<Record<AssetName, Asset>> {
  const cached = known.get(branding);
  if (cached !== undefined) return cached;
  const assets = {
    "style.css": createAsset(cssType, styleSheet(branding)),
    "forms.js": scriptAsset(formsScript),
    "icon.svg": iconAsset(branding),
  };
  known.set(branding, assets);
  return assets;
}

const cssType = "text/css; charset=utf-8";
const iconAsset = (look: Look) => createAsset("image/svg+xml", icon(look));

const knownScripts = new WeakMap<Script, Asset>();

function assetOfScript(script: Script): Asset {
  const cached = knownScripts.get(script);
  if (cached !== undefined) return cached;
  const asset = scriptAsset(script.body);
  knownScripts.set(script, asset);
  return asset;
}

function scriptAsset(body: string): Asset {
  return createAsset("text/javascript; charset=utf-8", body);
}

/** With a look that is not that of the settings, the URL has the look: an isolate serves it without knowing whose it is. */
export function assetUrl(branding: Branding, name: AssetName): string {
  const { version } = assetsOf(branding)[name];
  const lookName = branding.hasOwnLook === true ? lookNames[name] : undefined;
  if (lookName === undefined) return `/assets/${name}?v=${version}`;
  return `/assets/${lookName}?look=${formatLook(branding)}&v=${version}`;
}

export function scriptUrl(script: Script): string {
  return `/assets/${script.name}?v=${assetOfScript(script).version}`;
}

/** `undefined` for an unknown name, or what is no look. `url`: the one that is requested. */
export function serveAsset(
  branding: Branding,
  scripts: readonly Script[],
  name: string,
  url?: string,
): Response | undefined {
  const script = scripts.find((each) => each.name === name);
  const asset = script === undefined ? findAsset(branding, name, url) : assetOfScript(script);
  if (asset === undefined) return undefined;
  return new Response(asset.body, {
    headers: {
      "Content-Type": asset.contentType,
      "Cache-Control": "public, max-age=31536000, immutable",
      "X-Content-Type-Options": "nosniff",
      "Cross-Origin-Resource-Policy": "same-origin",
    },
  });
}

function findAsset(branding: Branding, name: string, url: string | undefined): Asset | undefined {
  if (url !== undefined && Object.values(lookNames).includes(name)) {
    const { searchParams } = new URL(url);
    const look = readLook(searchParams.get("look") ?? "");
    const styled = look && createAsset(cssType, inScheme(styleSheet(look), searchParams.get("scheme")));
    return name === "look.css" ? styled : look && iconAsset(look);
  }
  const assets = assetsOf(branding);
  return Object.hasOwn(assets, name) ? assets[name as AssetName] : undefined;
}
