import { html } from "hono/html";
import type { Child } from "hono/jsx";
import { assetUrl, type Script, scriptUrl } from "./assets.ts";
import { type Branding, ownText } from "./branding.ts";
import { LanguageSwitch } from "./language-switch.tsx";
import { describeLanguage, type Language } from "./languages.ts";
import type { LayoutKey } from "./messages.ts";
import type { Translator } from "./translator.ts";

export interface PageFrame {
  readonly t: Translator<LayoutKey>;
  /** Those that the page exists in. */
  readonly languages: readonly Language[];
  readonly branding: Branding;
  /** The path and query of the page, if a browser can load it again. */
  readonly location?: string | undefined;
}

interface LayoutProps extends PageFrame {
  readonly title: string;
  readonly scripts?: readonly Script[];
  /** False for a page whose script submits its form: the form may be submitted again by its button. */
  readonly submitsOnce?: boolean;
  /** `full`: as wide as lists and forms of a console need. */
  readonly wide?: boolean | "full";
  /** The form of the page that keeps what was typed when the language changes. */
  readonly formId?: string | undefined;
  /** Above the page. */
  readonly nav?: Child;
  /** Links to the account page: for pages shown to a person who is signed in. */
  readonly account?: boolean;
  readonly children?: Child;
}

/** The links below every page; none if there is nothing to link. */
function Footer(props: PageFrame & { readonly account: boolean | undefined; readonly formId: string | undefined }) {
  const { t, languages, branding, location, account, formId } = props;
  const { supportUrl, privacyUrl, termsUrl } = branding;
  const own = ownText(branding, "footer", t.language);
  if (!(own || account || supportUrl || privacyUrl || termsUrl || location !== undefined)) return null;
  return (
    <footer class="links">
      {own && <p class="own">{own}</p>}
      {account && <a href="/account">{t("link.account")}</a>}
      {supportUrl && <a href={supportUrl}>{t("support")}</a>}
      {privacyUrl && <a href={privacyUrl}>{t("link.privacy")}</a>}
      {termsUrl && <a href={termsUrl}>{t("link.terms")}</a>}
      {location !== undefined && <LanguageSwitch t={t} languages={languages} location={location} formId={formId} />}
    </footer>
  );
}

/** **The layout of every page**: the deployment's name and logo above one card. Every page works without its script. */
export function Layout(props: LayoutProps) {
  const {
    t,
    languages,
    branding,
    location,
    title,
    scripts = [],
    submitsOnce = true,
    wide,
    nav,
    account,
    children,
    formId,
  } = props;
  const logo = branding.logoUrl ?? assetUrl(branding, "icon.svg");
  const { logoUrlDark: dark = logo } = branding;
  return (
    <>
      {html`<!doctype html>`}
      <html lang={t.language} dir={describeLanguage(t.language).direction}>
        <head>
          <meta charset="utf-8" />
          <title>{`${title} · ${branding.name}`}</title>
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="robots" content="noindex" />
          <meta name="color-scheme" content="light dark" />
          <link rel="icon" href={logo} />
          <link rel="stylesheet" href={assetUrl(branding, "style.css")} />
          {submitsOnce && <script src={assetUrl(branding, "forms.js")} defer />}
          {scripts.map((script) => (
            <script src={scriptUrl(script)} defer />
          ))}
        </head>
        <body>
          <div class="page">
            <header class="brand">
              <picture>
                {dark !== logo && <source srcset={dark.replaceAll(" ", "%20")} media="(prefers-color-scheme: dark)" />}
                <img src={logo} alt="" height="32" width={branding.logoUrl === undefined ? "32" : undefined} />
              </picture>
              <span>{branding.name}</span>
            </header>
            {nav}
            <main class={wide === "full" ? "card wide full" : wide ? "card wide" : "card"}>{children}</main>
            <Footer {...{ t, branding, languages, location, account, formId }} />
          </div>
        </body>
      </html>
    </>
  );
}
