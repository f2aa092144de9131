import { type Asker, unknownDevice } from "@edge-op/shared/http/asker";
import en from "../../texts/mail/en.json" with { type: "json" };
import type { Branding } from "../branding.ts";
import { defineCatalog } from "../catalog.ts";
import { describePlace, personalDates } from "../describe-values.ts";
import type { Translator } from "../translator.ts";

/** What a mail knows of its cause and its person. */
export interface MailFacts {
  readonly atMs: number;
  /** The person's `locale` and `zoneinfo`. */
  readonly locale?: string | undefined;
  readonly zoneinfo?: string | undefined;
  /** The browser that caused the mail. Absent if a browser of the person did not cause it, and in mails that the previous release prepared. */
  readonly asker?: Asker | undefined;
}

/** The time as the person reads it. */
export function describeTime(t: MailTranslator, { atMs, locale, zoneinfo, asker }: MailFacts): string {
  const cf = asker?.timeZone === undefined ? {} : { timezone: asker.timeZone };
  const claims = { ...(locale === undefined ? {} : { locale }), ...(zoneinfo === undefined ? {} : { zoneinfo }) };
  return personalDates({ cf }, t.language, { claims }).time(atMs);
}

/** **When it happened, in which browser and where**: what a person judges by whether it was them. What is not known is left out. */
export function describeFacts(
  t: MailTranslator,
  facts: MailFacts,
): readonly (readonly [name: string, value: string])[] {
  const { asker } = facts;
  const time = [t("mail.factTime"), describeTime(t, facts)] as const;
  if (asker === undefined) return [time];
  const device = asker.device === unknownDevice ? t("mail.unknownDevice") : asker.device;
  const place = describePlace(t.language, asker);
  return [
    time,
    [t("mail.factDevice"), device],
    ...(place === undefined ? [] : [[t("mail.factPlace"), t("mail.estimated", { place })] as const]),
  ];
}

export type MailKey = keyof typeof en;
export type MailTranslator = Translator<MailKey>;

/** **The texts of mails**, in a module of their own: what sends mails loads no texts of pages. */
export const mailCatalog = defineCatalog<MailKey>(en, [
  (language) => import(`../../texts/mail/${language}.json`, { with: { type: "json" } }),
]);

/** A part of a mail: a paragraph, facts by name, a code that is typed from it, or a link to a page of this provider. The button is the main one. */
export type MailBlock =
  | { readonly kind: "paragraph"; readonly text: string }
  | { readonly kind: "facts"; readonly facts: readonly (readonly [name: string, value: string])[] }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "button" | "link"; readonly text: string; readonly url: string };

export interface MailContent {
  readonly subject: string;
  /** The subject, without the code. */
  readonly heading?: string;
  readonly blocks: readonly MailBlock[];
}

export interface MailFrame {
  readonly issuer: string;
  readonly branding: Branding;
  /** `DELETION_GRACE_DAYS`. */
  readonly deletionGraceDays: number;
}

/** What stands below each mail. */
export interface MailEnd {
  /** The deployment's own text. */
  readonly own: string | undefined;
  readonly help: { readonly text: string; readonly url: string } | undefined;
}
