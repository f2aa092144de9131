/** **The texts of the console**, together with those of the layout. */

import { type LayoutMessageKey, layoutMessages } from "@edge-op/pages/messages";
import type { Catalog } from "@edge-op/pages/translator";
import de from "../../texts/de.json" with { type: "json" };
import en from "../../texts/en.json" with { type: "json" };

export type ConsoleKey = LayoutMessageKey | (keyof typeof en & keyof typeof de);

export const consoleMessages: Catalog<ConsoleKey> = {
  en: { ...layoutMessages.en, ...en },
  de: { ...layoutMessages.de, ...de },
};
