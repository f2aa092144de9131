/**
 * **Where objects and databases are created**: the location hints and jurisdictions of the platform that this provider accepts. An object stays where
 * it was created, so both are chosen before the first request.
 *
 * @see https://developers.cloudflare.com/durable-objects/reference/data-location/
 */

export const locationHints = ["wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"] as const;
export type LocationHint = (typeof locationHints)[number];

/** `none`: no restriction. Objects of another jurisdiction are other objects, so it can never change. */
export const jurisdictions = ["none", "eu"] as const;
export type Jurisdiction = (typeof jurisdictions)[number];

/** The hints within a jurisdiction; the platform ignores others. */
export const hintsWithin: Readonly<Record<Jurisdiction, readonly LocationHint[]>> = {
  none: locationHints,
  eu: ["weur", "eeur"],
};

export function isLocationHint(text: string): text is LocationHint {
  return locationHints.some((hint) => hint === text);
}
