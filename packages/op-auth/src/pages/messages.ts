import { defineCatalog } from "@edge-op/pages/catalog";
import { type LayoutKey, layoutTexts, loadLayoutTexts } from "@edge-op/pages/messages";
import type { Translator } from "@edge-op/pages/translator";
import en from "../../texts/en.json" with { type: "json" };

export type AuthKey = LayoutKey | keyof typeof en;
export type AuthTranslator = Translator<AuthKey>;

/** **The texts of op-auth**, together with those of the layout. */
export const authCatalog = defineCatalog<AuthKey>({ ...layoutTexts, ...en }, [
  loadLayoutTexts,
  (language) => import(`../../texts/${language}.json`, { with: { type: "json" } }),
]);
