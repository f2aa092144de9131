import type { DocumentPolicy, HostPolicy } from "../config/document-policies.ts";
import { isolateMemory } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import type { RequestContext } from "../http/request-context.ts";
import { ReadThrough, type StorageBindings } from "../storage/read-through.ts";
import { everyId } from "../storage/record-kinds.ts";
import type { StoredKind } from "../storage/record-query.ts";
import { documentPolicy } from "./document-policy.ts";

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
