import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { otherSpellings, registeredSpelling } from "@edge-op/protocol/oauth/resource-indicator";
import { isolateMemory } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import type { RequestContext } from "../http/request-context.ts";
import { ReadThrough, type StorageBindings } from "../storage/read-through.ts";
import type { StoredKind } from "../storage/record-kinds.ts";
import { isResourceMetadata, type Resource } from "./resource.ts";

/**
 * **Finds resources by identifier** through memory (1 h), KV (1 h) and D1, kept current by the control version. Absence is cached for an hour,
 * because creation is a control change: audiences that only clients name are looked up once. Cost warm: 0.
 */
export class ResourceDirectory {
  readonly #resources: ReadThrough<Resource>;

  constructor(control: ControlView) {
    this.#resources = ReadThrough.ofWhole(control, {
      ...storedResources,
      absentSeconds: 3600,
      maxBytes: isolateMemory.resources,
      presenceBytes: isolateMemory.absentResources,
    });
  }

  find(context: RequestContext<StorageBindings>, identifier: string): Promise<Resource | undefined> {
    return this.#resources.find(context, identifier);
  }

  /** Takes resources, and the absence of others, that were read with the record of a client at the control version `cv`. */
  offer(resources: Readonly<Record<string, Resource | null>>, cv: number): void {
    for (const [identifier, resource] of Object.entries(resources)) {
      this.#resources.offer(identifier, resource ?? undefined, cv);
    }
  }

  /** {@link ReadThrough.readAhead} */
  readAhead(context: RequestContext<StorageBindings>, identifier: string): Promise<void> {
    return this.#resources.readAhead(context, identifier);
  }

  /** The resources among the identifiers, in the given order. */
  async findAll(context: RequestContext<StorageBindings>, identifiers: readonly string[]): Promise<Resource[]> {
    const found = await Promise.all(identifiers.map((identifier) => this.find(context, identifier)));
    return found.filter((resource) => resource !== undefined);
  }

  /**
   * The values as they are registered, as resources or among `audiences` (those of the client and of this provider), with the resources among them.
   * Only a value that nothing registers byte for byte is looked up in its other spellings (RFC 3986 §6.2).
   */
  async findNamed(
    context: RequestContext<StorageBindings>,
    values: readonly string[],
    audiences: readonly string[],
  ): Promise<{ readonly named: readonly string[]; readonly found: readonly Resource[] }> {
    const exact = await this.findAll(context, values);
    const known = [...audiences, ...exact.map(({ identifier }) => identifier)];
    const others = values.filter((value) => !known.includes(value)).flatMap(otherSpellings);
    const further = others.length === 0 ? [] : await this.findAll(context, [...new Set(others)]);
    const registered = [...further.map(({ identifier }) => identifier), ...known];
    const named = [...new Set(values.map((value) => registeredSpelling(value, registered)))];
    const found = [...exact, ...further].filter(({ identifier }) => named.includes(identifier));
    return { named, found };
  }
}

interface ResourceRow {
  readonly identifier: string;
  readonly metadata: string;
}

export const storedResources: StoredKind<Resource> = {
  kind: "resource",
  ttlSeconds: 3600,
  query: {
    statement: (database, identifier) =>
      database.prepare("SELECT identifier, metadata FROM resources WHERE identifier = ?1").bind(identifier),
    read: ([row]) => row && readResource(row as ResourceRow),
  },
};

export function readResource({ identifier, metadata }: ResourceRow): Resource {
  return { identifier, metadata: readStored("resource", metadata, isResourceMetadata) };
}
