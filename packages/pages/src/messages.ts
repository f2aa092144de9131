import en from "../texts/layout/en.json" with { type: "json" };
import type { LoadTexts } from "./catalog.ts";

/**
 * **The texts of the layout and of error pages**, beside those that a Worker has for its own pages. They are in a folder without others: the build
 * takes every file below the folder of an `import()` with a variable.
 */
export const layoutTexts = en;

export type LayoutKey = keyof typeof en;

export const loadLayoutTexts: LoadTexts = (language) =>
  import(`../texts/layout/${language}.json`, { with: { type: "json" } });
