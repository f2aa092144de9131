/**
 * **Which clients may be known by a metadata document**: a policy of the deployment, and exceptions for hosts. A `client_id` is the URL of a document
 * if it is https, in the URL parser's normal form, without a final dot of the host, so that another spelling cannot be another client or
 * evade the policy of its host.
 *
 * @see https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document-02#section-3
 */

import type { DocumentPolicy, HostPolicy } from "../config/document-policies.ts";

interface PolicySettings {
  readonly issuer: string;
  readonly clientDocuments: DocumentPolicy;
  readonly clientDocumentHosts: readonly HostPolicy[];
}

/** The maximum length of a record's id. */
const longestUrl = 255;

export function isDocumentUrl(clientId: string, { issuer }: Pick<PolicySettings, "issuer">): boolean {
  const isLocal = issuer.startsWith("http:") && clientId.startsWith("http:");
  if (!clientId.startsWith("https:") && !isLocal) return false;
  if (clientId.length > longestUrl || !URL.canParse(clientId)) return false;
  const { href, hostname, username, password } = new URL(clientId);
  if (hostname.endsWith(".")) return false;
  return href === clientId && !clientId.includes("#") && username === "" && password === "";
}

/**
 * The policy for a document's host: the most precise match among the administrators' policies (`recorded`), else the first match of the settings,
 * else the deployment's default.
 */
export function documentPolicy(
  clientId: string,
  settings: PolicySettings,
  recorded: readonly HostPolicy[] = [],
): DocumentPolicy {
  const { hostname } = new URL(clientId);
  const naming = recorded.filter(({ host }) => namesHost(host, hostname));
  const [closest] = naming.toSorted((one, other) => precision(other) - precision(one));
  const named = closest ?? settings.clientDocumentHosts.find(({ host }) => namesHost(host, hostname));
  return named?.policy ?? settings.clientDocuments;
}

/** Whether the policy for any host is not `deny`. A recorded `*` precedes every host of the settings. */
export function admitsSomeHost(
  { clientDocuments, clientDocumentHosts }: Omit<PolicySettings, "issuer">,
  recorded: readonly HostPolicy[] = [],
): boolean {
  const isAdmitted = ({ policy }: Pick<HostPolicy, "policy">) => policy !== "deny";
  if (recorded.some(isAdmitted)) return true;
  if (recorded.some(({ host }) => host === "*")) return false;
  return clientDocuments !== "deny" || clientDocumentHosts.some(isAdmitted);
}

/** `*.` matches every host below it, at any depth; `*` alone matches every host. */
function namesHost(pattern: string, hostname: string): boolean {
  if (pattern === "*") return true;
  return pattern.startsWith("*.") ? hostname.endsWith(pattern.slice(1)) : hostname === pattern;
}

/** A host in the URL parser's form, `*.` and a name, or `*`. */
export function isDocumentHost(host: string): boolean {
  if (host === "*") return true;
  const name = host.startsWith("*.") ? host.slice(2) : host;
  if (name.length > 253 || name.endsWith(".") || !/^[a-z0-9.:[\]-]+$/.test(name) || !URL.canParse(`https://${name}/`))
    return false;
  return new URL(`https://${name}/`).hostname === name && (name === host || /[a-z]/.test(name));
}

function precision({ host }: HostPolicy): number {
  return host.startsWith("*") ? host.length : Number.POSITIVE_INFINITY;
}
