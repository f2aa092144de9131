import { html } from "hono/html";
import type { Child } from "hono/jsx";
import { assetUrl } from "../assets/assets.ts";
import type { Deployment } from "../deployment.ts";
import type { Translator } from "./messages.ts";

/** **The frame of every page**: the deployment's name and logo, one card. Scripts help, and no page needs one. */
export interface PageFrame {
  readonly t: Translator;
  readonly deployment: Deployment;
}

interface LayoutProps extends PageFrame {
  readonly title: string;
  readonly script?: "passkey.js" | "submit.js";
  readonly wide?: boolean;
  /** Links to the account page: for pages shown to a person who is signed in. */
  readonly account?: boolean;
  readonly children?: Child;
}

export function Layout({ t, deployment, title, script, wide, account, children }: LayoutProps) {
  return (
    <>
      {html`<!doctype html>`}
      <html lang={t.language}>
        <head>
          <meta charset="utf-8" />
          <title>{`${title} · ${deployment.name}`}</title>
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="robots" content="noindex" />
          <meta name="color-scheme" content="light dark" />
          <link rel="icon" href={deployment.logoUrl ?? assetUrl(deployment, "icon.svg")} />
          <link rel="stylesheet" href={assetUrl(deployment, "style.css")} />
          {script !== "submit.js" && <script src={assetUrl(deployment, "once.js")} defer />}
          {script && <script src={assetUrl(deployment, script)} defer />}
        </head>
        <body>
          <div class="page">
            <header class="brand">
              <img src={deployment.logoUrl ?? assetUrl(deployment, "icon.svg")} alt="" width="32" height="32" />
              <span>{deployment.name}</span>
            </header>
            <main class={wide ? "card wide" : "card"}>{children}</main>
            {(account || deployment.supportUrl) && (
              <footer class="links">
                {account && <a href="/account">{t("link.account")}</a>}
                {deployment.supportUrl && <a href={deployment.supportUrl}>{t("support")}</a>}
              </footer>
            )}
          </div>
        </body>
      </html>
    </>
  );
}

/** A client as people see it: its logo or its initial, and its name. */
export function ClientMark({ name, logoUri }: { readonly name: string; readonly logoUri: string | undefined }) {
  return logoUri ? (
    <img class="mark" src={logoUri} alt="" width="56" height="56" referrerpolicy="no-referrer" />
  ) : (
    <span class="mark" aria-hidden="true">
      {[...name][0]?.toUpperCase()}
    </span>
  );
}
