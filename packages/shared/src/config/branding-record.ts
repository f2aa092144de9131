/**
 * **The branding that administrators have saved**: one record, which takes precedence over the settings member by member, in force without a
 * deployment. Members are those of `/admin/branding`.
 */

import { isJsonObject } from "@edge-op/protocol/encoding/json-object";

/** Places of pages and mails with a text of the deployment's own. Each is at most so long, in characters. */
export const textPlaces = {
  sign_in_heading: 60,
  sign_in_intro: 240,
  sign_up_intro: 240,
  footer: 240,
  mail_footer: 240,
} as const;

export type TextPlace = keyof typeof textPlaces;

/** By language (RFC 5646), as `text-languages.ts` names them. A language without a text has the product's own, or none. */
type PlacedTexts = Readonly<Partial<Record<TextPlace, Readonly<Record<string, string>>>>>;

export interface BrandingRecord {
  readonly logo_url?: string;
  readonly logo_url_dark?: string;
  readonly brand_color?: string;
  readonly brand_color_dark?: string;
  readonly background_color?: string;
  readonly background_color_dark?: string;
  readonly corner_radius?: number;
  readonly font?: string;
  readonly texts?: PlacedTexts;
}

/** Characters of the record as JSON: it is part of what isolates hold, and its logos are part of each page. */
export const largestBranding = 24_000;

/** `current` is in force. `draft` is shown in the console alone. */
export type BrandingId = "current" | "draft";

export function readBrandingRecord(document: string): BrandingRecord {
  const record: unknown = JSON.parse(document);
  if (!isJsonObject(record)) throw new Error("branding is not an object");
  return record as BrandingRecord;
}
