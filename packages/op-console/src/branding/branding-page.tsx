import { type Branding, brandingWith, recordMembers } from "@edge-op/pages/branding";
import { fonts } from "@edge-op/pages/look";
import type { BrandingRecord } from "@edge-op/shared/config/branding-record";
import type { Child } from "hono/jsx";
import { membersOf, type RecordField, valuesOf } from "../records/members.ts";
import { readConsoleBranding } from "../serve/branding.ts";
import { defineChange, type Found } from "../serve/define-change.tsx";
import { definePage } from "../serve/define-page.tsx";
import type { ConsoleKey } from "../serve/messages.ts";
import { Actions, Done, type Fact, Facts, Head, Section } from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";

const path = "/console/branding";
const scope = "admin:clients";

const color = { kind: "text", help: "branding.colorHelp" } as const;
const logo = { kind: "text", help: "branding.logoHelp" } as const;
const text = { kind: "pairs", help: "branding.textHelp", withoutText: "absent" } as const;

const fields: readonly RecordField[] = [
  { name: "brand_color", label: "branding.brand", ...color },
  { name: "brand_color_dark", label: "branding.brandDark", ...color },
  { name: "background_color", label: "branding.ground", ...color },
  { name: "background_color_dark", label: "branding.groundDark", ...color },
  { name: "corner_radius", label: "branding.radius", kind: "number" },
  {
    name: "font",
    label: "branding.font",
    kind: "choice",
    options: [["", "branding.asSettings"], ...fonts.map((font) => [font] as const)],
  },
  { name: "logo_url", label: "branding.logo", ...logo },
  { name: "logo_url_dark", label: "branding.logoDark", ...logo },
  { name: "texts.sign_in_heading", label: "branding.signInHeading", ...text },
  { name: "texts.sign_in_intro", label: "branding.signInIntro", ...text },
  { name: "texts.sign_up_intro", label: "branding.signUpIntro", ...text },
  { name: "texts.footer", label: "branding.footer", ...text },
  { name: "texts.mail_footer", label: "branding.mailFooter", ...text },
];

/** The pages and mails of a preview, by their names in its path. */
const previews = {
  "sign-in": "branding.pageSignIn",
  "sign-up": "branding.pageSignUp",
  code: "branding.pageCode",
  method: "branding.pageMethod",
  consent: "branding.pageConsent",
  account: "branding.pageAccount",
  device: "branding.pageDevice",
  logout: "branding.pageLogout",
  error: "branding.pageError",
  "not-found": "branding.pageNotFound",
  "mail-code": "branding.mailCode",
  "mail-notice": "branding.mailNotice",
} as const satisfies Readonly<Record<string, ConsoleKey>>;

async function findSaved(at: PageCall): Promise<Found> {
  const { body, etag } = await at.api.send<BrandingRecord>({ method: "GET", path: "/branding/current" });
  return { name: "", values: valuesOf(fields, body), etag };
}

/** Saves the values as the draft, and shows every page in it, in both schemes. */
async function preview(at: PageCall, values: Found["values"] = {}): Promise<Child> {
  const { t } = at;
  const body = membersOf(fields, values);
  const saved = await at.api.send<{ readonly preview: string }>({ method: "PUT", path: "/branding/draft", body });
  const search = new URLSearchParams({ preview: saved.body.preview });
  return (
    <Section title={t("branding.preview")}>
      <p class="muted small">{t("branding.previewText")}</p>
      {Object.entries(previews).map(([name, label]) => {
        const src = `/flow/preview/${name}?${search}`;
        return (
          <figure class="preview">
            <figcaption>
              <a href={src} target="_blank" rel="noopener">
                {t(label)}
              </a>
            </figcaption>
            {(["light", "dark"] as const).map((scheme) => (
              <iframe
                src={`${src}&scheme=${scheme}`}
                title={`${t(label)}: ${t(`branding.${scheme}`)}`}
                loading="lazy"
              />
            ))}
          </figure>
        );
      })}
    </Section>
  );
}

const page = definePage({
  path,
  scope,
  operations: ["readBranding"],
  async show(at) {
    const { t, context } = at;
    const record = await at.api.get<BrandingRecord & { readonly updated_at?: number }>("/branding/current");
    const inForce: Branding = brandingWith(readConsoleBranding(context.env), record);
    const isSaved = record.updated_at !== undefined;
    const looks = Object.entries(recordMembers).map(([name, member]): Fact => {
      const label = fields.find((field) => field.name === name)!.label;
      const own = record[name as keyof typeof recordMembers] !== undefined;
      const value = String(inForce[member] ?? "");
      return [t(label), own || value === "" ? value : `${value} (${t("branding.asSettings")})`];
    });
    const values = valuesOf(fields, record);
    const texts = fields.flatMap(({ name, label }): Fact[] => {
      const lines = name.startsWith("texts.") && values[name] ? values[name].split("\n") : [];
      return lines.length === 0 ? [] : [[t(label), lines]];
    });
    const actions = [
      { href: `${path}/edit`, text: t("branding.edit") },
      ...(isSaved ? [{ href: `${path}/reset`, text: t("branding.reset"), isDangerous: true }] : []),
    ];
    const children = (
      <>
        <Head title={t("branding.title")} text={t(isSaved ? "branding.saved" : "branding.none")} />
        <Done t={t} query={at.query} />
        <Facts t={t} facts={[...looks, ...texts]} />
        <Actions actions={actions} />
      </>
    );
    return { title: t("branding.title"), children };
  },
});

const edit = defineChange({
  path: `${path}/edit`,
  scope,
  operations: ["readBranding", "replaceBranding"],
  title: "branding.save",
  ends: "branding.saveEnds",
  fields,
  find: findSaved,
  hasFrames: true,
  warning: { show: (at, _, values) => preview(at, values) },
  request: (_, values) => ({ method: "PUT", path: "/branding/current", body: membersOf(fields, values) }),
  done: () => path,
  back: () => path,
});

const reset = defineChange({
  path: `${path}/reset`,
  scope,
  operations: ["deleteBranding"],
  title: "branding.reset",
  ends: "branding.resetEnds",
  isDangerous: true,
  find: async () => ({ name: "" }),
  request: () => ({ method: "DELETE", path: "/branding/current" }),
  done: () => path,
  back: () => path,
});

/** **The branding**: what is in force, a form that shows every page before it is saved, and the way back to the settings. */
export const brandingPages: readonly ConsoleRoute[] = [page, edit, reset];
