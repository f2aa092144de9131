/**
 * **Finds the configured region nearest to a request**: by the coordinates that Cloudflare reports, else by continent, else the first. Distances are
 * great-circle distances to a central point of the region's location hint.
 *
 * @see https://developers.cloudflare.com/durable-objects/reference/data-location/#provide-a-location-hint
 */

import type { RegionShards } from "./generation-table.ts";

interface Point {
  readonly latitude: number;
  readonly longitude: number;
}

const hintPoints: Readonly<Record<DurableObjectLocationHint, Point>> = {
  wnam: { latitude: 37.4, longitude: -121.9 },
  enam: { latitude: 39.0, longitude: -77.5 },
  sam: { latitude: -23.5, longitude: -46.6 },
  weur: { latitude: 50.1, longitude: 4.4 },
  eeur: { latitude: 50.1, longitude: 19.9 },
  apac: { latitude: 22.3, longitude: 114.2 },
  "apac-ne": { latitude: 35.7, longitude: 139.7 },
  "apac-se": { latitude: 1.4, longitude: 103.8 },
  oc: { latitude: -33.9, longitude: 151.2 },
  afr: { latitude: -26.2, longitude: 28.0 },
  me: { latitude: 25.2, longitude: 55.3 },
};

const continentPoints: Readonly<Record<string, Point>> = {
  AF: { latitude: 1.0, longitude: 17.0 },
  AS: { latitude: 29.0, longitude: 95.0 },
  EU: { latitude: 50.0, longitude: 10.0 },
  NA: { latitude: 39.0, longitude: -95.0 },
  OC: { latitude: -27.0, longitude: 140.0 },
  SA: { latitude: -15.0, longitude: -58.0 },
};

export type RequestOrigin = Partial<Pick<IncomingRequestCfProperties, "continent" | "latitude" | "longitude">>;

/** Name of the nearest region; if regions are equally near or the origin is unknown, the first in the generation's order. */
export function nearestRegion(
  origin: RequestOrigin | undefined,
  regions: Readonly<Record<string, RegionShards>>,
): string | undefined {
  const names = Object.keys(regions);
  const from = originPoint(origin);
  if (from === undefined || names.length < 2) return names[0];
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const distance = angle(from, hintPoints[regions[name]!.hint]);
    if (distance < least) [nearest, least] = [name, distance];
  }
  return nearest;
}

function originPoint(origin: RequestOrigin | undefined): Point | undefined {
  if (origin?.latitude && origin.longitude) {
    const point = { latitude: Number(origin.latitude), longitude: Number(origin.longitude) };
    if (Math.abs(point.latitude) <= 90 && Math.abs(point.longitude) <= 180) return point;
  }
  const continent = origin?.continent;
  return continent !== undefined && Object.hasOwn(continentPoints, continent) ? continentPoints[continent] : undefined;
}

/** Central angle between two points in radians (spherical law of cosines). */
function angle(a: Point, b: Point): number {
  const radians = Math.PI / 180;
  const [from, to] = [a.latitude * radians, b.latitude * radians];
  const cosine =
    Math.sin(from) * Math.sin(to) + Math.cos(from) * Math.cos(to) * Math.cos((b.longitude - a.longitude) * radians);
  return Math.acos(Math.min(1, Math.max(-1, cosine)));
}
