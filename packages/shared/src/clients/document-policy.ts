/**
 * **Which clients may be known by a metadata document**: a policy of the deployment, and exceptions for hosts. A `client_id` is the URL of a document
 * if it is https, in the URL parser's normal form, without a final dot of the host, so that another spelling cannot be another client or
 * evade the policy of its host.
 *
 * @see https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document-02#section-3
 */

import { isolateMemory } from "../config/limits.ts";
import type { DocumentPolicy, HostPolicy } from "../config/setting-values.ts";
import type { ControlView } from "../control/control-view.ts";
import type { RequestContext } from "../http/request-context.ts";
import { ReadThrough, type StorageBindings } from "../storage/read-through.ts";
import { everyId, type StoredKind } from "../storage/record-kinds.ts";

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

/** Maximum number of rows in D1, which form one record. The admin API enforces it. */
export const mostDocumentHosts = 200;

/** The decisions of administrators about metadata documents and discovery. */
export interface HostList {
  readonly hosts: readonly HostPolicy[];
  /** The claims to which attributes are mapped: discovery shows them, and reads nothing else that administrators decide. */
  readonly claims: readonly string[];
}

/**
 * **The policies that administrators have set for hosts of metadata documents** (ADR 47); they precede those of the settings. They are one record,
 * read through memory (1 h), KV (1 h) and D1, kept current by the control version. Cost warm: 0.
 */
export class DocumentHosts {
  readonly #lists: ReadThrough<HostList>;

  constructor(control: ControlView) {
    this.#lists = ReadThrough.ofWhole<HostList>(control, {
      ...storedDocumentHosts,
      maxBytes: isolateMemory.documentHosts,
    });
  }

  /** `clientId` is the URL of a document. */
  async policyFor(context: RequestContext<StorageBindings>, clientId: string): Promise<DocumentPolicy> {
    const list = await this.#lists.find(context, everyId);
    return documentPolicy(clientId, context.settings, list?.hosts);
  }

  /** All of it, the same object until it changes: what discovery depends on. */
  list(context: RequestContext<StorageBindings>): Promise<HostList | undefined> {
    return this.#lists.find(context, everyId);
  }

  /** Whether {@link policyFor} and {@link list} would cost no call. */
  isHeld(context: RequestContext<StorageBindings>): boolean {
    return this.#lists.isHeld(context, everyId);
  }
}

/** A host and its policy, or the name of a claim, without a policy. */
interface HostRow {
  readonly host: string;
  readonly policy: DocumentPolicy | null;
}

/** All policies, and what discovery shows of attributes: one record. */
export const storedDocumentHosts: StoredKind<HostList> = {
  kind: "document-hosts",
  ttlSeconds: 3600,
  query: {
    statement: (database) =>
      database.prepare(
        `SELECT host, policy FROM document_hosts
         UNION ALL SELECT document ->> '$.claim.name', NULL FROM attributes
          WHERE document ->> '$.claim' IS NOT NULL AND document ->> '$.claim.clients' IS NULL ORDER BY 1`,
      ),
    read: (rows) => {
      const found = rows as readonly HostRow[];
      return {
        hosts: found.flatMap(({ host, policy }) => (policy === null ? [] : [{ host, policy }])),
        claims: found.flatMap(({ host: claim, policy }) => (policy === null ? [claim] : [])),
      };
    },
  },
};

export async function listDocumentHosts(database: D1Database): Promise<HostPolicy[]> {
  const statement = database.prepare("SELECT host, policy FROM document_hosts ORDER BY host");
  const { results } = await statement.all<HostPolicy>();
  return results.map(({ host, policy }) => ({ host, policy }));
}
