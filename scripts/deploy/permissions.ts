/**
 * **The permission of an API token that a call needs**, as the dashboard names it. Cloudflare answers a call that lacks one with 403 and a code, and
 * names none. The first match counts.
 *
 * @see https://developers.cloudflare.com/fundamentals/api/reference/permissions/
 */
const permissions: readonly (readonly [path: RegExp, permission: string])[] = [
  [/^\/zones\/[^/]+\/workers\/routes|\/scripts\/[^/]+\/routes$/, "Zone › Workers Routes: Edit"],
  [
    /\/workers\/domains|\/scripts\/[^/]+\/domains\//,
    "Account › Workers Scripts: Edit, and Zone › Workers Routes: Edit",
  ],
  [/\/scripts\/[^/]+\/tails/, "Account › Workers Tail: Read"],
  [/^\/accounts\/[^/]+\/workers\//, "Account › Workers Scripts: Edit"],
  [/^\/accounts\/[^/]+\/d1\//, "Account › D1: Edit"],
  [/^\/accounts\/[^/]+\/storage\/kv\//, "Account › Workers KV Storage: Edit"],
  [/^\/accounts\/[^/]+\/queues/, "Account › Queues: Edit"],
  [/^\/accounts\/[^/]+\/r2\//, "Account › Workers R2 Storage: Edit"],
  [/^\/accounts\/[^/]+\/mtls_certificates/, "Account › SSL and Certificates: Edit"],
  [/^\/zones\/[^/]+\/certificate_authorities/, "Zone › SSL and Certificates: Edit"],
  [/^\/zones\/[^/]+\/dns_records/, "Zone › DNS: Read"],
  [/^\/zones(?:\?|$)/, "Zone › Zone: Read"],
  [/^\/(?:accounts|memberships)(?:\?|$)/, "Account › Account Settings: Read"],
];

/** What wrangler and the API say of a token that may not do this; 7403 is D1's, 10023 of Workers. */
const denied = /\[code: (?:10000|10023|9109|7403)\]/;

/** `undefined` for a call that this command does not make. */
export function permissionFor(path: string): string | undefined {
  return permissions.find(([pattern]) => pattern.test(path))?.[1];
}

export function describeLack(path: string): string {
  const permission = permissionFor(path);
  return permission === undefined
    ? "The token lacks a permission (docs/operating/deploy.md lists those that it needs)."
    : `The token lacks the permission ${permission} (docs/operating/deploy.md).`;
}

/** What an output of wrangler says of a call that was not permitted. */
export function findLack(output: string): string | undefined {
  const path = /request to the Cloudflare API \(([^)]+)\) failed/.exec(output)?.[1];
  return path === undefined || !denied.test(output) ? undefined : `${path}: ${describeLack(path)}`;
}
