import type { Place } from "@edge-op/shared/sessions/user-sessions";

/** **A place for display**: city and country, in the language of the page; `undefined` if it is not known. */
export function describePlace(language: string, { city, country }: Place): string | undefined {
  if (country === undefined) return undefined;
  const name = new Intl.DisplayNames([language], { type: "region", fallback: "code" }).of(country);
  return [city, name].filter(Boolean).join(", ");
}
