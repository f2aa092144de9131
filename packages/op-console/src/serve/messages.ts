import { defineCatalog } from "@edge-op/pages/catalog";
import { type LayoutKey, layoutTexts, loadLayoutTexts } from "@edge-op/pages/messages";
import { pseudoLanguages } from "@edge-op/pages/pseudo-languages";
import en from "../../texts/en.json" with { type: "json" };

export type ConsoleKey = LayoutKey | keyof typeof en;

export function isConsoleKey(name: string): name is ConsoleKey {
  return Object.hasOwn(en, name);
}

/** **The texts of the console**, together with those of the layout. */
export const consoleCatalog = defineCatalog<ConsoleKey>(
  { ...layoutTexts, ...en },
  [loadLayoutTexts, (language) => import(`../../texts/${language}.json`, { with: { type: "json" } })],
  ["en", "de", ...Object.keys(pseudoLanguages)],
);
