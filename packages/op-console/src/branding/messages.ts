import type { Catalog } from "@edge-op/pages/translator";

const en = {
  "branding.title": "Branding",
  "branding.text":
    "This page shows itself in the colours that you try. They are settings of the deployment: copy them there when they are right.",
  "branding.brand": "Colour of buttons and marks",
  "branding.brandDark": "The same in dark schemes",
  "branding.ground": "Background",
  "branding.groundDark": "The same in dark schemes",
  "branding.help": "As #rrggbb.",
  "branding.try": "Try",
  "branding.settings": "Settings",
  "branding.sample": "Samples",
  "branding.button": "A button",
  "branding.quiet": "Another button",
  "branding.link": "A link",
  "branding.good": "A message that something has succeeded.",
  "branding.bad": "A message that something has failed.",
  "branding.signIn": "The sign-in page, as it is now",
} as const;

export type BrandingKey = keyof typeof en;

const de: Readonly<Record<BrandingKey, string>> = {
  "branding.title": "Aussehen",
  "branding.text":
    "Diese Seite zeigt sich in den Farben, die Sie ausprobieren. Sie sind Einstellungen des Deployments: Übernehmen Sie sie dort, wenn sie stimmen.",
  "branding.brand": "Farbe von Schaltflächen und Marken",
  "branding.brandDark": "Dasselbe in dunklen Schemata",
  "branding.ground": "Hintergrund",
  "branding.groundDark": "Dasselbe in dunklen Schemata",
  "branding.help": "Als #rrggbb.",
  "branding.try": "Ausprobieren",
  "branding.settings": "Einstellungen",
  "branding.sample": "Muster",
  "branding.button": "Eine Schaltfläche",
  "branding.quiet": "Eine andere Schaltfläche",
  "branding.link": "Ein Link",
  "branding.good": "Eine Meldung, dass etwas gelungen ist.",
  "branding.bad": "Eine Meldung, dass etwas nicht gelungen ist.",
  "branding.signIn": "Die Anmeldeseite, wie sie jetzt ist",
};

export const brandingMessages: Catalog<BrandingKey> = { en, de };
