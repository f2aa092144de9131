import type { User } from "@edge-op/shared/users/user";

export interface PersonalDates {
  /** A day. */
  date(atMs: number): string;
  /** A day and a time, with the name of its zone. */
  time(atMs: number): string;
}

/** **Dates and times as a person reads them**: in their language and in the zone of their `zoneinfo` claim (OIDC Core §5.1), else in UTC. */
export function personalDates(language: string, { claims }: Pick<User, "claims">): PersonalDates {
  const timeZone = zoneOf(claims.zoneinfo);
  const locale = language === "en" ? "en-GB" : language;
  const day = { timeZone, day: "numeric", month: "short", year: "numeric" } as const;
  const date = new Intl.DateTimeFormat(locale, day);
  const time = new Intl.DateTimeFormat(locale, { ...day, hour: "2-digit", minute: "2-digit", timeZoneName: "short" });
  return { date: (atMs) => date.format(atMs), time: (atMs) => time.format(atMs) };
}

/** An administrator may have stored a name that is none. */
function zoneOf(zoneinfo: string | undefined): string {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: zoneinfo ?? "UTC" }).resolvedOptions().timeZone;
  } catch {
    return "UTC";
  }
}
