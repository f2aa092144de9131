import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { Place } from "@edge-op/shared/sessions/user-sessions";

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
