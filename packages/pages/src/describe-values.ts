import type { Place } from "@edge-op/shared/http/asker";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { User } from "@edge-op/shared/users/user";
import { describeLanguage } from "./languages.ts";

/** Where a language has another than the Latin one. */
const commas: Readonly<Record<string, string>> = { ar: "، ", ja: "、", "zh-Hans": "，" };

/**
 * **A place for display**: city and country, in the language of the page; `undefined` if it is not known. The city is named as the network names it,
 * and isolated where it would turn the direction around it (UAX 9 §2.4.2).
 */
export function describePlace(language: string, { city, country }: Place): string | undefined {
  if (country === undefined) return undefined;
  const name = new Intl.DisplayNames([language], { type: "region", fallback: "code" }).of(country);
  const isolated = city && (describeLanguage(language).direction === "rtl" ? `\u2068${city}\u2069` : city);
  return [isolated, name].filter(Boolean).join(commas[language] ?? ", ");
}

/** **A time to wait for display**: in seconds or, for two minutes and more, in minutes. */
export function describeWait(language: string, seconds: number): string {
  const [amount, unit] = seconds < 120 ? [seconds, "second"] : [Math.ceil(seconds / 60), "minute"];
  return new Intl.NumberFormat([language], { style: "unit", unit, unitDisplay: "long" }).format(amount);
}

/** **How long ago something was**, in minutes; less than one is now. */
export function describeAgo(language: string, minutes: number): string {
  return new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(-minutes, minutes < 1 ? "second" : "minute");
}

export interface PersonalDates {
  /** A day. */
  date(atMs: number): string;
  /** A day and a time, with the name of its zone. */
  time(atMs: number): string;
}

/**
 * **Dates and times as a person reads them**: in their language, as the region of their `locale` writes them, and in the zone of their `zoneinfo`
 * claim (OIDC Core §5.1), else in that of the request, as Cloudflare estimates it from the address, else in UTC.
 */
export function personalDates(
  { cf }: Pick<RequestContext<unknown>, "cf">,
  language: string,
  { claims }: { readonly claims: Pick<User["claims"], "locale" | "zoneinfo"> },
): PersonalDates {
  const timeZone = findZone(claims.zoneinfo) ?? findZone(cf?.timezone) ?? "UTC";
  const locale = findRegion(claims.locale, language) ?? (language === "en" ? "en-GB" : language);
  const day = { timeZone, day: "numeric", month: "short", year: "numeric" } as const;
  const date = new Intl.DateTimeFormat(locale, day);
  const time = new Intl.DateTimeFormat(locale, { ...day, hour: "2-digit", minute: "2-digit", timeZoneName: "short" });
  return { date: (atMs) => date.format(atMs), time: (atMs) => time.format(atMs) };
}

/** An administrator may have stored a name that is none. */
function findZone(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** A locale that names a region, if it is in the language of the text. Likewise. */
function findRegion(tag: string | undefined, language: string): string | undefined {
  if (tag === undefined) return undefined;
  try {
    const { language: own, region } = new Intl.Locale(tag);
    const text = new Intl.Locale(language);
    return own === text.language && region !== undefined ? new Intl.Locale(text, { region }).toString() : undefined;
  } catch {
    return undefined;
  }
}
