import type { Place } from "@edge-op/shared/directory/consents";
import type { RequestContext } from "@edge-op/shared/http/request-context";

const longestCity = 100;

/**
 * **Where a request comes from, approximately**: country and city as Cloudflare estimates them from the address, for people to
 * recognise their own sessions by. It decides nothing. Empty where the platform does not know (`XX`, Tor's `T1`).
 */
export function placeOf({ cf }: Pick<RequestContext<unknown>, "cf">): Place {
  const country: string | undefined = cf?.country ?? undefined;
  if (country === undefined || !/^[A-Z]{2}$/.test(country) || country === "XX") return {};
  return { country, ...(cf?.city ? { city: cf.city.slice(0, longestCity) } : {}) };
}
