import { isolateMemory } from "../config/limits.ts";
import type { DocumentPolicy } from "../config/setting-values.ts";
import type { ControlView } from "../control/control-view.ts";
import { HostBusyError } from "../http/host-budget.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { ResourceDirectory } from "../resources/resource-directory.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";
import { log } from "../runtime/log.ts";
import type { FetchedDocuments } from "../storage/fetched-documents.ts";
import { ReadThrough, type StorageBindings } from "../storage/read-through.ts";
import { attachedClientBytes, type Client, type ClientMetadata } from "./client.ts";
import { DocumentHosts, isDocumentUrl } from "./document-policy.ts";
import { type StoredClient, storedClients } from "./stored-clients.ts";

/** How long after it was fresh a stored document may be used while its server fails. */
const staleDocumentMs = 86_400_000;
const dayMs = 86_400_000;
/** The first use of a client is not a control change, so copies in KV and memory (an hour each) may still contain a client that was never used. */
const staleUseMs = 3 * 3_600_000;

/**
 * **Finds clients** through memory (1 h), KV (1 h) and D1, kept current by the control version. The absence of a client is cached for a minute,
 * except that of a client with a metadata document, whose row appears without a control change (consent-step.ts). A client of a metadata document has
 * a row after its first consent; its metadata are those of the document, fetched again when they are no longer fresh (ADR 47). Only {@link discover}
 * fetches the document of an unknown client. Cost warm: 0.
 */
export class ClientDirectory {
  readonly #clients: ReadThrough<Client, StorageBindings, StoredClient>;
  readonly #documents: FetchedDocuments<ClientMetadata> | undefined;
  readonly documentHosts: DocumentHosts;
  readonly #noted = new IsolateCache<true>({ maxBytes: isolateMemory.notedClients });

  /**
   * Without `documents`, the stored metadata of a document are used as they are. `resources` receives the records of the audiences that a client's
   * registration names, because a request of the client nearly always needs them.
   */
  constructor(control: ControlView, documents?: FetchedDocuments<ClientMetadata>, resources?: ResourceDirectory) {
    this.#documents = documents;
    this.documentHosts = new DocumentHosts(control);
    this.#clients = new ReadThrough(control, {
      ...storedClients,
      absentSeconds: 60,
      mayAppear: (clientId) => clientId.includes("://"),
      maxBytes: isolateMemory.clients,
      attachedBytes: attachedClientBytes,
      unpack: ({ client, resources: described }, cv) => {
        resources?.offer(described, cv);
        return client;
      },
    });
  }

  /** Disabled clients are returned too; the caller refuses them. */
  async find(context: RequestContext<StorageBindings>, clientId: string): Promise<Client | undefined> {
    const [client, policy] = await this.#look(context, clientId);
    if (client === undefined || client.origin === undefined) return client;
    return client.origin === "document" ? this.#currentDocument(context, client, policy) : withinLife(context, client);
  }

  /** Like {@link find}; an unknown client is looked up at the URL of its metadata document, if the deployment allows it. */
  async discover(context: RequestContext<StorageBindings>, clientId: string): Promise<Client | undefined> {
    const [known, policy] = await this.#look(context, clientId);
    if (known !== undefined || this.#documents === undefined) return this.find(context, clientId);
    if (policy === undefined || policy === "deny") return undefined;
    const document = await this.#documents.find(context, clientId);
    if (document.kind !== "document") return undefined;
    const { value: metadata, freshUntilMs } = document;
    return {
      clientId,
      status: "active",
      metadata,
      secrets: [],
      origin: "document",
      documentPolicy: policy,
      freshUntilMs,
      createdAtMs: undefined,
      cutOffs: [],
    };
  }

  /** A view of the directory whose `find` discovers, for endpoints where an unknown client may start. */
  get discovering(): Pick<ClientDirectory, "find" | "isHeld" | "recheck"> {
    return {
      find: (context, clientId) => this.discover(context, clientId),
      isHeld: (context, clientId) => this.isHeld(context, clientId),
      recheck: (context, clientId) => this.recheck(context, clientId),
    };
  }

  /** {@link ReadThrough.readAhead} */
  readAhead(context: RequestContext<StorageBindings>, clientId: string): Promise<void> {
    return this.#clients.readAhead(context, clientId);
  }

  /** Whether {@link find} would cost no call. */
  isHeld(context: RequestContext<StorageBindings>, clientId: string): boolean {
    if (!this.#clients.isHeld(context, clientId)) return false;
    return !isDocumentUrl(clientId, context.settings) || this.documentHosts.isHeld(context);
  }

  /** The client as stored in D1, for a secret that does not match the copy (read-through.ts). */
  recheck(context: RequestContext<StorageBindings>, clientId: string): Promise<Client | undefined> {
    return this.#clients.recheck(context, clientId);
  }

  /** Records, at most once a day and in the background, that a client is in use; unused clients are deleted (CLIENT_IDLE_LIFETIME). */
  noteUse(context: RequestContext<StorageBindings>, { clientId, origin, usedAtMs = 0 }: Client): void {
    const { arrivedAtMs } = context;
    if (origin === undefined || usedAtMs > arrivedAtMs - dayMs || this.#noted.get(clientId, arrivedAtMs)) return;
    this.#noted.set(clientId, true, arrivedAtMs + dayMs);
    const statement = context.env.DB.prepare(
      "UPDATE clients SET used_at_ms = ?2 WHERE client_id = ?1 AND origin IS NOT NULL AND coalesce(used_at_ms, 0) < ?2",
    ).bind(clientId, arrivedAtMs);
    context.waitUntil(inBackground(statement, clientId));
  }

  /** Reads the record and the policy of a document's host in parallel. */
  async #look(
    context: RequestContext<StorageBindings>,
    clientId: string,
  ): Promise<readonly [Client | undefined, DocumentPolicy | undefined]> {
    if (!isDocumentUrl(clientId, context.settings)) return [await this.#clients.find(context, clientId), undefined];
    return Promise.all([this.#clients.find(context, clientId), this.documentHosts.policyFor(context, clientId)]);
  }

  async #currentDocument(
    context: RequestContext<StorageBindings>,
    record: Client,
    policy: DocumentPolicy = "deny",
  ): Promise<Client | undefined> {
    const stored: Client = { ...record, documentPolicy: policy };
    const { clientId, freshUntilMs = 0 } = stored;
    if (policy === "deny") return { ...stored, status: "disabled" };
    if (this.#documents === undefined) return stored;
    const held = this.#documents.held(context, clientId);
    if (held !== undefined) return { ...stored, metadata: held.value };
    if (freshUntilMs > context.arrivedAtMs) return stored;
    const isUsable = freshUntilMs + staleDocumentMs > context.arrivedAtMs;
    if (isUsable && this.#documents.failure(context, clientId) !== undefined) return stored;
    const document = await this.#documents.find(context, clientId).catch((error: unknown) => {
      if (error instanceof HostBusyError && isUsable) return { kind: "unreachable" } as const;
      throw error;
    });
    if (document.kind === "document") {
      context.waitUntil(inBackground(storeDocument(context.env.DB, clientId, document), clientId));
      return { ...stored, metadata: document.value };
    }
    return document.kind === "unreachable" && isUsable ? stored : undefined;
  }
}

/**
 * Whether a client is still registered. A client that registered itself and was never used expires by the clock, also in copies that outlive its row.
 */
function withinLife({ arrivedAtMs, settings }: RequestContext<unknown>, client: Client): Client | undefined {
  if (client.usedAtMs !== undefined || client.createdAtMs === undefined) return client;
  const endsAtMs = client.createdAtMs + settings.clientUnusedSeconds * 1000 + staleUseMs;
  return endsAtMs > arrivedAtMs ? client : undefined;
}

function storeDocument(
  database: D1Database,
  clientId: string,
  { value, freshUntilMs }: { readonly value: ClientMetadata; readonly freshUntilMs: number },
): D1PreparedStatement {
  return database
    .prepare("UPDATE clients SET metadata = ?2, fresh_until_ms = ?3 WHERE client_id = ?1 AND origin = 'document'")
    .bind(clientId, JSON.stringify(value), freshUntilMs);
}

/** A failure is harmless: the next request tries again. */
async function inBackground(statement: D1PreparedStatement, clientId: string): Promise<void> {
  try {
    await statement.run();
  } catch (cause) {
    log("client-not-updated", { clientId, cause: String(cause) });
  }
}
