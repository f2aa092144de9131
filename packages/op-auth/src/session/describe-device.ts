import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { Place } from "@edge-op/shared/sessions/user-sessions";

const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(e|A|iOS)?\//, "Edge"],
  [/\b(OPR|Opera)\//, "Opera"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Chrome|CriOS|Chromium|HeadlessChrome)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];

const systems: readonly (readonly [RegExp, string])[] = [
  [/\b(iPhone|iPod)\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\b(Macintosh|Mac OS X)\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
];

/** **The browser and system, for example "Firefox · Windows"**. People recognise their devices by it; no decision depends on it. */
export function describeDevice(userAgent: string | null): string {
  const find = (known: readonly (readonly [RegExp, string])[]) =>
    known.find(([pattern]) => pattern.test(userAgent ?? ""))?.[1];
  return [find(browsers), find(systems)].filter(Boolean).join(" · ") || "Browser";
}

const longestCity = 100;

/**
 * **The approximate place of a request**: country and city, as Cloudflare estimates them from the address. People recognise their sessions by
 * it; no decision depends on it. Empty if the platform does not know it (`XX`, `T1` for Tor).
 */
export function placeOf({ cf }: Pick<RequestContext<unknown>, "cf">): Place {
  const country: string | undefined = cf?.country ?? undefined;
  if (country === undefined || !/^[A-Z]{2}$/.test(country) || country === "XX") return {};
  return { country, ...(cf?.city ? { city: cf.city.slice(0, longestCity) } : {}) };
}
