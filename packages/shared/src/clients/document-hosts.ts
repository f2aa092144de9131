import type { DocumentPolicy, HostPolicy } from "../config/document-policies.ts";
import { isolateMemory } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import type { RequestContext } from "../http/request-context.ts";
import { ReadThrough, type StorageBindings } from "../storage/read-through.ts";
import { everyId } from "../storage/record-kinds.ts";
import type { StoredKind } from "../storage/record-query.ts";
import { admitsSomeHost, documentPolicy } from "./document-policy.ts";

/** Maximum number of rows in D1, which form one record. The admin API enforces it. */
export const mostDocumentHosts = 200;

interface HostList {
  readonly hosts: readonly HostPolicy[];
}

/**
 * **The policies that administrators have set for hosts of metadata documents** (ADR 47); they precede those of the settings. They are one record,
 * read through memory (1 h), KV (1 h) and D1, kept current by the control version. Cost warm: 0.
 */
export class DocumentHosts {
  readonly #lists: ReadThrough<HostList>;

  constructor(control: ControlView) {
    this.#lists = new ReadThrough<HostList>(control, {
      ...storedDocumentHosts,
      maxBytes: isolateMemory.documentHosts,
    });
  }

  /** `clientId` is the URL of a document. */
  async policyFor(context: RequestContext<StorageBindings>, clientId: string): Promise<DocumentPolicy> {
    const list = await this.#lists.find(context, everyId);
    return documentPolicy(clientId, context.settings, list?.hosts);
  }

  /** Whether any host may publish documents, as shown in discovery. */
  async admitsAny(context: RequestContext<StorageBindings>): Promise<boolean> {
    const list = await this.#lists.find(context, everyId);
    return admitsSomeHost(context.settings, list?.hosts);
  }

  /** Whether {@link policyFor} and {@link admitsAny} would cost no call. */
  isHeld(context: RequestContext<StorageBindings>): boolean {
    return this.#lists.isHeld(context, everyId);
  }
}

/** All policies: one record. */
export const storedDocumentHosts: StoredKind<HostList> = {
  kind: "document-hosts",
  ttlSeconds: 3600,
  query: { statement: hostsStatement, read: (rows) => ({ hosts: rows as readonly HostPolicy[] }) },
};

export async function listDocumentHosts(database: D1Database): Promise<HostPolicy[]> {
  const { results } = await hostsStatement(database).all<HostPolicy>();
  return results.map(({ host, policy }) => ({ host, policy }));
}

function hostsStatement(database: D1Database): D1PreparedStatement {
  return database.prepare("SELECT host, policy FROM document_hosts ORDER BY host");
}
