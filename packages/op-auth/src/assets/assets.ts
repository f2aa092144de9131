import { fnv1a } from "@edge-op/shared/sharding/shard-address";
import type { Deployment } from "../deployment.ts";
import { passkeyScript } from "./passkey.js.ts";
import { styleSheet } from "./style.css.ts";

/** **What pages load besides themselves**, from this origin. A URL carries a hash of what it serves, so it is kept for ever. */
export type AssetName = "style.css" | "passkey.js" | "once.js" | "submit.js" | "icon.svg";

interface Asset {
  readonly body: string;
  readonly contentType: string;
  readonly version: string;
}

const submitScript = `document.forms[0].submit();`;

/** A second click would send a page that the first has spent. Coming back to the page makes its forms new. */
const onceScript = `
"use strict";
addEventListener("submit", (event) => {
  if (event.defaultPrevented) return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "1";
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});
`.trim();

function icon({ brandColor }: Deployment): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="${brandColor}"/><path d="M16 6.5l7.5 3v5.6c0 4.9-3.1 8.6-7.5 10.4-4.4-1.8-7.5-5.5-7.5-10.4V9.5z" fill="#fff"/><path d="M12.4 16.2l2.6 2.6 4.8-5.2" fill="none" stroke="${brandColor}" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"/></svg>`;
}

const known = new WeakMap<Deployment, Readonly<Record<AssetName, Asset>>>();

function assetsOf(deployment: Deployment): Readonly<Record<AssetName, Asset>> {
  const cached = known.get(deployment);
  if (cached !== undefined) return cached;
  const asset = (contentType: string, body: string): Asset => ({
    body,
    contentType,
    version: fnv1a(body).toString(36),
  });
  const assets = {
    "style.css": asset("text/css; charset=utf-8", styleSheet(deployment)),
    "passkey.js": asset("text/javascript; charset=utf-8", passkeyScript),
    "once.js": asset("text/javascript; charset=utf-8", onceScript),
    "submit.js": asset("text/javascript; charset=utf-8", submitScript),
    "icon.svg": asset("image/svg+xml", icon(deployment)),
  };
  known.set(deployment, assets);
  return assets;
}

export function assetUrl(deployment: Deployment, name: AssetName): string {
  return `/assets/${name}?v=${assetsOf(deployment)[name].version}`;
}

/** `undefined` for a name that does not exist. */
export function serveAsset(deployment: Deployment, name: string): Response | undefined {
  const assets = assetsOf(deployment);
  if (!Object.hasOwn(assets, name)) return undefined;
  const { body, contentType } = assets[name as AssetName];
  return new Response(body, {
    headers: {
      "Content-Type": contentType,
      "Cache-Control": "public, max-age=31536000, immutable",
      "X-Content-Type-Options": "nosniff",
      "Cross-Origin-Resource-Policy": "same-origin",
    },
  });
}
