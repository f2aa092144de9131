/** **Zones, routes, DNS records and custom domains.** */

import { randomBytes, randomUUID } from "node:crypto";
import { ApiFault, type ApiRoute, route } from "./api-call.ts";
import type { LocalCloudflare } from "./local-cloudflare.ts";
import { accountOf } from "./store-routes.ts";

function zoneById(local: LocalCloudflare, id: string | undefined) {
  const zone = local.zones.find((each) => each.id === id);
  if (zone === undefined) throw new ApiFault(404, 7003, "zone not found");
  return zone;
}

const account = "/accounts/{account}";

export const zoneRoutes: readonly ApiRoute[] = [
  route("GET", "/zones", (local, { search }) =>
    local.zones
      .filter(
        ({ name, account: owner }) => name === search.get("name") && owner === (search.get("account.id") ?? owner),
      )
      .map(({ id, name, account: owner }) => ({ id, name, status: "active", account: { id: owner } })),
  ),
  route("GET", "/zones/{zone}/workers/routes", (local, _request, parts) => zoneById(local, parts.zone).routes),
  route("DELETE", "/zones/{zone}/workers/routes/{route}", (local, _request, parts) => {
    const zone = zoneById(local, parts.zone);
    zone.routes = zone.routes.filter(({ id }) => id !== parts.route);
    return null;
  }),
  route("GET", "/zones/{zone}/dns_records", (local, { search }, parts) =>
    zoneById(local, parts.zone).dnsRecords.filter(({ name }) => name === search.get("name")),
  ),
  route("GET", "/zones/{zone}/certificate_authorities/hostname_associations", (local, { search }, parts) => ({
    hostnames: zoneById(local, parts.zone).certificateHosts.get(search.get("mtls_certificate_id") ?? "") ?? [],
  })),
  route("PUT", "/zones/{zone}/certificate_authorities/hostname_associations", (local, { body }, parts) => {
    const { hostnames, mtls_certificate_id: id = "" } = body as { hostnames: string[]; mtls_certificate_id?: string };
    zoneById(local, parts.zone).certificateHosts.set(id, hostnames);
    return { hostnames };
  }),
  route(
    "GET",
    `${account}/mtls_certificates`,
    (local, _request, parts) => accountOf(local, parts.account).mtlsCertificates,
  ),
  route("POST", `${account}/mtls_certificates`, (local, { body }, parts) => {
    const { ca, certificates } = body as { ca: boolean; certificates: string };
    const uploaded = { id: randomUUID(), ca, certificates };
    accountOf(local, parts.account).mtlsCertificates.push(uploaded);
    return uploaded;
  }),
  route("GET", `${account}/workers/domains`, (local, { search }, parts) =>
    [...accountOf(local, parts.account).domains.values()]
      .filter(({ hostname }) => hostname === (search.get("hostname") ?? hostname))
      .map(({ zoneId, ...domain }) => ({ ...domain, zone_id: zoneId })),
  ),
  route("DELETE", `${account}/workers/domains/{domain}`, (local, _request, parts) => {
    const { domains } = accountOf(local, parts.account);
    for (const [hostname, { id }] of domains) if (id === parts.domain) domains.delete(hostname);
    return null;
  }),
  route("POST", `${account}/workers/scripts/{script}/domains/changeset`, (local, { body }, parts) => {
    const { domains } = accountOf(local, parts.account);
    const wanted = body as { hostname: string }[];
    return {
      added: wanted.filter(({ hostname }) => !domains.has(hostname)).map(({ hostname }) => ({ hostname })),
      removed: [],
      updated: wanted.flatMap(({ hostname }) => {
        const found = domains.get(hostname);
        return found === undefined ? [] : [{ id: found.id, hostname, modified: found.service !== parts.script }];
      }),
      conflicting: [],
    };
  }),
  route("PUT", `${account}/workers/scripts/{script}/domains/records`, (local, { body }, parts) => {
    const { domains } = accountOf(local, parts.account);
    const { origins } = body as { origins: { hostname: string }[] };
    for (const { hostname } of origins) {
      const zone = local.zones.find(({ name }) => hostname === name || hostname.endsWith(`.${name}`));
      if (zone === undefined) throw new ApiFault(400, 10082, "no zone of this host");
      domains.set(hostname, { id: randomBytes(8).toString("hex"), hostname, service: parts.script!, zoneId: zone.id });
    }
    return [...domains.values()];
  }),
  route("PUT", `${account}/workers/scripts/{script}/routes`, (local, { body }, parts) => {
    const wanted = body as { pattern: string; zone_name?: string; zone_id?: string }[];
    for (const zone of local.zones) {
      const here = wanted.filter(({ zone_name, zone_id }) => zone_name === zone.name || zone_id === zone.id);
      const others = zone.routes.filter(({ script }) => script !== parts.script);
      const taken = here.find(({ pattern }) => others.some((each) => each.pattern === pattern));
      if (taken !== undefined) throw new ApiFault(409, 10020, `route ${taken.pattern} is assigned to another Worker`);
      const own = here.map(({ pattern }) => ({ id: randomBytes(8).toString("hex"), pattern, script: parts.script! }));
      zone.routes = [...others, ...own];
    }
    return wanted.map(({ pattern }) => ({ pattern }));
  }),
];
