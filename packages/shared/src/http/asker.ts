/** Where a request came from, as the platform estimates it; the address is not stored. */
export interface Place {
  readonly city?: string;
  /** ISO 3166-1 alpha-2. */
  readonly country?: string;
}

/** **Who sent a request, as a person recognises it.** Each member is of a fixed vocabulary or the platform's estimate, never the sender's text. */
export interface Asker extends Place {
  /** From {@link describeDevice}. */
  readonly device: string;
  /** As the platform estimates it. */
  readonly timeZone?: string;
}

/** What a request context knows of its sender. */
interface Sender {
  readonly cf?: Partial<IncomingRequestCfProperties> | undefined;
  readonly device?: string | undefined;
}

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

/** Neither the browser nor the system is known. */
export const unknownDevice = "Browser";

/** **The browser and system, for example "Firefox · Windows"**. People recognise their devices by it; no decision depends on it. */
export function describeDevice(userAgent: string | null): string {
  const find = (known: readonly (readonly [RegExp, string])[]) =>
    known.find(([pattern]) => pattern.test(userAgent ?? ""))?.[1];
  return [find(browsers), find(systems)].filter(Boolean).join(" · ") || unknownDevice;
}

/** Letters, with what stands between them in names. */
const cityForm = /^[\p{L}\p{M}\p{N} .,'’()/-]{1,100}$/u;

/**
 * **The approximate place of a request**: country and city, as Cloudflare estimates them from the address. People recognise their sessions by
 * it; no decision depends on it. Empty if the platform does not know it (`XX`, `T1` for Tor).
 */
export function placeOf({ cf }: Pick<Sender, "cf">): Place {
  const country: string | undefined = cf?.country ?? undefined;
  if (country === undefined || !/^[A-Z]{2}$/.test(country) || country === "XX") return {};
  return { country, ...(cityForm.test(cf?.city ?? "") ? { city: cf!.city! } : {}) };
}

/** Nobody, for work without a request. */
export function askerOf({ cf, device }: Sender): Asker | undefined {
  if (device === undefined) return undefined;
  return { device, ...placeOf({ cf }), ...(cf?.timezone ? { timeZone: cf.timezone } : {}) };
}
