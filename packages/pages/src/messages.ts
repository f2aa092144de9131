import en from "../texts/en.json" with { type: "json" };
import type { LoadTexts } from "./catalog.ts";

/** **The texts of the layout and of error pages**, beside those that a Worker has for its own pages. */
export const layoutTexts = en;

export type LayoutKey = keyof typeof en;

export const loadLayoutTexts: LoadTexts = (language) => import(`../texts/${language}.json`, { with: { type: "json" } });
