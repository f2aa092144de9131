import type { Catalog } from "@edge-op/pages/translator";

const en = {
  text: "You have not signed in in this browser before.",
} as const;

/** **Texts of the page for the code of a new browser**, beside those of mailed codes. */
export const confirmBrowserMessages: Catalog<keyof typeof en> = {
  en,
  de: { text: "In diesem Browser haben Sie sich noch nicht angemeldet." },
};
