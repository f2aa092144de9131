/** **The texts of op-auth**, together with those of the layout. */

import { type LayoutMessageKey, layoutMessages } from "@edge-op/pages/messages";
import type { Catalog, Translator } from "@edge-op/pages/translator";
import de from "../../texts/de.json" with { type: "json" };
import en from "../../texts/en.json" with { type: "json" };

export type AuthKey = LayoutMessageKey | (keyof typeof en & keyof typeof de);

export type AuthTranslator = Translator<AuthKey>;

export const authMessages: Catalog<AuthKey> = {
  en: { ...layoutMessages.en, ...en },
  de: { ...layoutMessages.de, ...de },
};
