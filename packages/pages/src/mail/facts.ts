import { type Asker, unknownDevice } from "@edge-op/shared/http/asker";
import { describePlace, personalDates } from "../describe-values.ts";
import type { MailTranslator } from "./messages.ts";

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
