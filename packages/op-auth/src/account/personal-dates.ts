import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { User } from "@edge-op/shared/users/user";

export interface PersonalDates {
  /** A day. */
  date(atMs: number): string;
  /** A day and a time, with the name of its zone. */
  time(atMs: number): string;
}

/**
 * **Dates and times as a person reads them**: in their language and in the zone of their `zoneinfo` claim (OIDC Core §5.1), else in that of the request, as
 * Cloudflare estimates it from the address, else in UTC.
 */
export function personalDates(
  { cf }: Pick<RequestContext<unknown>, "cf">,
  language: string,
  { claims }: Pick<User, "claims">,
): PersonalDates {
  const timeZone = findZone(claims.zoneinfo) ?? findZone(cf?.timezone) ?? "UTC";
  const locale = language === "en" ? "en-GB" : language;
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
