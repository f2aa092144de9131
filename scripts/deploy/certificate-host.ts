/**
 * **The host at which Cloudflare requests client certificates** (RFC 8705 §5, `MTLS_ORIGIN`): a custom domain of the front door, in the list of hosts
 * with mutual TLS of its zone. Behind the operator's own proxy (`MTLS_PROXY_KEY_SHA256`), the host is the proxy's and this does not apply.
 *
 * @see https://developers.cloudflare.com/api/resources/certificate_authorities/
 * @see https://developers.cloudflare.com/api/resources/mtls_certificates/
 */

import { X509Certificate } from "node:crypto";
import { type CloudflareApi, CloudflareError } from "./cloudflare-api.ts";
import type { Environment } from "./environment.ts";
import { awaitHealth } from "./verify.ts";

export function certificateHost({ variables, workersDev }: Environment): string | undefined {
  const { MTLS_ORIGIN: origin, MTLS_PROXY_KEY_SHA256: proxy } = variables;
  if (origin === undefined || proxy !== undefined || workersDev) return undefined;
  return new URL(origin).host;
}

interface Uploaded {
  readonly id: string;
  readonly ca: boolean;
  readonly certificates: string;
}

interface Associations {
  readonly hostnames?: readonly string[] | null;
}

interface CertificateHost {
  readonly api: CloudflareApi;
  readonly account: string;
  readonly zone: string;
  readonly host: string;
  readonly authority: string | undefined;
  /** The name of an uploaded authority, for people. */
  readonly name: string;
}

/** Can be repeated. The list of hosts belongs to the zone and the authority, so other hosts in it are kept. Returns a description of the changes. */
export async function enableCertificates(host: CertificateHost): Promise<string[]> {
  const id = host.authority === undefined ? undefined : await uploadAuthority(host, host.authority);
  const path = `/zones/${host.zone}/certificate_authorities/hostname_associations`;
  const found = await host.api.get<Associations>(id === undefined ? path : `${path}?mtls_certificate_id=${id}`);
  const hostnames = found.hostnames ?? [];
  const trusted = id === undefined ? "Cloudflare's own authority" : "clientAuthority";
  if (hostnames.includes(host.host)) return [`${host.host} asks for certificates of ${trusted}`];
  await host.api.send("PUT", path, {
    hostnames: [...hostnames, host.host],
    ...(id === undefined ? {} : { mtls_certificate_id: id }),
  });
  return [`${host.host} now asks for certificates of ${trusted}`];
}

/** The same certificate is uploaded only once, under any name. */
async function uploadAuthority({ api, account, name }: CertificateHost, pem: string): Promise<string> {
  const path = `/accounts/${account}/mtls_certificates`;
  const { fingerprint256 } = new X509Certificate(pem);
  const all = await api.list<Uploaded>(path);
  const known = all.find(
    ({ ca, certificates }) => ca && new X509Certificate(certificates).fingerprint256 === fingerprint256,
  );
  if (known !== undefined) return known.id;
  return (await api.send<Uploaded>("POST", path, { ca: true, name, certificates: pem })).id;
}

/** The manual step if the API token lacks the permission; `undefined` for any other error. */
export function manualStep(error: unknown, { host, authority }: Pick<CertificateHost, "host" | "authority">) {
  if (!(error instanceof CloudflareError) || (error.status !== 403 && error.status !== 401)) return undefined;
  return [
    `NOT DONE: ${error.message}`,
    `Give the token the permission "SSL and Certificates: Edit" of the zone${authority === undefined ? "" : " and of the account"} and repeat the command, or by hand:`,
    `SSL/TLS › Client Certificates › Hosts › Edit: add ${host} (docs/operating/mutual-tls.md)`,
  ];
}

/** The discovery document must name the host, and the host must respond. Only the zone's list shows whether it requests certificates. */
export async function verifyAliases(issuer: string, origin: string, reach: typeof fetch): Promise<string> {
  const response = await reach(`${issuer}/.well-known/oauth-authorization-server`);
  const { mtls_endpoint_aliases: aliases = {} } = (await response.json()) as {
    mtls_endpoint_aliases?: Readonly<Record<string, string>>;
  };
  const urls = Object.values(aliases);
  const foreign = urls.find((url) => !url.startsWith(`${origin}/`));
  if (urls.length === 0 || foreign !== undefined) throw new Error(`mtls_endpoint_aliases: ${foreign ?? "missing"}`);
  await awaitHealth(origin, reach);
  return `discovery names ${urls.length} endpoints for client certificates below ${origin}, which responds`;
}
