import { icon } from "@edge-op/pages/assets";
import type { Branding } from "@edge-op/pages/branding";
import { styleSheet } from "@edge-op/pages/style-sheet";
import { readConsoleBranding } from "../serve/branding.ts";
import { definePage } from "../serve/define-page.tsx";
import { type Field, Fields } from "../serve/fields.tsx";
import type { ConsoleKey } from "../serve/messages.ts";
import { Head, Section } from "../serve/parts.tsx";
import type { ConsoleRoute, SignedIn } from "../serve/route.ts";

const brandingPath = "/console/branding";

const colors = {
  BRAND_COLOR: ["brandColor", "branding.brand"],
  BRAND_COLOR_DARK: ["brandColorDark", "branding.brandDark"],
  BACKGROUND_COLOR: ["background", "branding.ground"],
  BACKGROUND_COLOR_DARK: ["backgroundDark", "branding.groundDark"],
} as const satisfies Readonly<Record<string, readonly [keyof Branding, ConsoleKey]>>;

/** The deployment's branding with the colours that a query tries; what is no colour is ignored. */
function triedBranding({ context, query }: SignedIn): Branding {
  const tried = Object.entries(colors).flatMap(([variable, [member]]) => {
    const value = query.get(variable) ?? "";
    return /^#[0-9a-f]{6}$/i.test(value) ? [[member, value]] : [];
  });
  return { ...readConsoleBranding(context.env), ...Object.fromEntries(tried) };
}

const page = definePage({
  path: brandingPath,
  scope: undefined,
  operations: [],
  async show(at) {
    const { t, query, context } = at;
    const branding = triedBranding(at);
    const values = Object.fromEntries(Object.entries(colors).map(([name, [member]]) => [name, branding[member]]));
    const fields = Object.entries(colors).map(
      ([name, [, label]]): Field => ({ name, label, help: "branding.help", kind: "text" }),
    );
    const children = (
      <>
        <Head title={t("branding.title")} text={t("branding.text")} />
        <form method="get" action={brandingPath}>
          <Fields t={t} fields={fields} values={values} />
          <div class="actions">
            <button type="submit" id="try">
              {t("branding.try")}
            </button>
          </div>
        </form>
        <Section title={t("branding.sample")}>
          <p class="note good">{t("branding.good")}</p>
          <p class="note bad">{t("branding.bad")}</p>
          <p class="row wrap">
            <a class="button slim" href={brandingPath}>
              {t("branding.button")}
            </a>
            <a class="button quiet slim" href={brandingPath}>
              {t("branding.quiet")}
            </a>
            <a href={brandingPath}>{t("branding.link")}</a>
          </p>
        </Section>
        <Section title={t("branding.settings")}>
          <pre class="secret">
            {Object.entries(values)
              .map((entry) => entry.join("="))
              .join("\n")}
          </pre>
          <p>
            <a href={`${context.settings.issuer}/`}>{t("branding.signIn")}</a>
          </p>
        </Section>
      </>
    );
    const tries = new URLSearchParams(Object.entries(values));
    return {
      title: t("branding.title"),
      children,
      ...(query.size === 0 ? {} : { styleSheet: `${brandingPath}/style.css?${tries}` }),
      // A logo of the deployment has its own colours.
      ...(query.size === 0 || branding.logoUrl !== undefined ? {} : { logoUrl: `${brandingPath}/icon.svg?${tries}` }),
    };
  },
});

/** A file of the colours that are tried. Strings of six digits come in, so nothing else can get into it. */
function preview(name: string, contentType: string, bodyOf: (branding: Branding) => string): ConsoleRoute {
  return {
    path: `${brandingPath}/${name}`,
    scope: undefined,
    operations: [],
    accepts: ["GET"],
    respond: async (at) =>
      new Response(bodyOf(triedBranding(at)), {
        headers: { "Content-Type": contentType, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" },
      }),
  };
}

export const brandingPages: readonly ConsoleRoute[] = [
  preview("style.css", "text/css; charset=utf-8", styleSheet),
  preview("icon.svg", "image/svg+xml", icon),
  page,
];
