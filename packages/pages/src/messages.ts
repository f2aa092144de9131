/** **The texts of the layout and of error pages.** The texts of a Worker's own pages are defined in that Worker. */

import de from "../texts/de.json" with { type: "json" };
import en from "../texts/en.json" with { type: "json" };
import type { Catalog } from "./translator.ts";

export type LayoutMessageKey = keyof typeof en & keyof typeof de;

export const layoutMessages: Catalog<LayoutMessageKey> = { en, de };
