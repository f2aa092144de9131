import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { isolateMemory } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import type { RequestContext } from "../http/request-context.ts";
import { ReadThrough, type StorageBindings } from "../storage/read-through.ts";
import { isResourceMetadata, type Resource } from "./resource.ts";

/**
 * **Finds resources by identifier** through memory (1 h), KV (1 h) and D1, kept current by the control version. Absence is cached for an hour,
 * because creation is a control change: audiences that only clients name are looked up once. Cost warm: 0.
 */
export class ResourceDirectory {
  readonly #resources: ReadThrough<Resource>;

  constructor(control: ControlView) {
    this.#resources = new ReadThrough(control, {
      kind: "resource",
      ttlSeconds: 3600,
      absentSeconds: 3600,
      maxBytes: isolateMemory.resources,
      presenceBytes: isolateMemory.absentResources,
      load: (context, identifier) => loadResource(context.env.DB, identifier),
    });
  }

  find(context: RequestContext<StorageBindings>, identifier: string): Promise<Resource | undefined> {
    return this.#resources.find(context, identifier);
  }

  /** The resources among the identifiers, in the given order. */
  async findAll(context: RequestContext<StorageBindings>, identifiers: readonly string[]): Promise<Resource[]> {
    const found = await Promise.all(identifiers.map((identifier) => this.find(context, identifier)));
    return found.filter((resource) => resource !== undefined);
  }
}

async function loadResource(database: D1Database, identifier: string): Promise<Resource | undefined> {
  const row = await database
    .prepare("SELECT identifier, metadata FROM resources WHERE identifier = ?1")
    .bind(identifier)
    .first<{ readonly identifier: string; readonly metadata: string }>();
  if (row === null) return undefined;
  return { identifier: row.identifier, metadata: readStored("resource", row.metadata, isResourceMetadata) };
}
