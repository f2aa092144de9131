import { storedDocumentHosts } from "@edge-op/shared/clients/document-policy";
import { storedClients } from "@edge-op/shared/clients/stored-clients";
import { limits } from "@edge-op/shared/config/limits";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import { changedRecords } from "@edge-op/shared/control/control-view";
import { createRequestContext, type RecordName } from "@edge-op/shared/http/request-context";
import { storedIssuers } from "@edge-op/shared/issuers/issuer-directory";
import { storedSchedules } from "@edge-op/shared/keys/stored-schedule";
import { storedResources } from "@edge-op/shared/resources/resource-directory";
import { storedGenerations } from "@edge-op/shared/storage/generation-table";
import { type CacheBindings, type Copy, writeCache } from "@edge-op/shared/storage/kv-cache";
import type { CarriedRecord, ControlKind, NamedChange, StoredKind } from "@edge-op/shared/storage/record-kinds";
import { storedUpstreams } from "@edge-op/shared/upstreams/upstream";
import { storedAttributes } from "@edge-op/shared/users/attributes";

/** The kinds that every isolate may hold. A user is held by a few isolates, which read it themselves. */
const carriedKinds = new Map<ControlKind, StoredKind<unknown>>(
  [
    ...[storedClients, storedResources, storedIssuers, storedDocumentHosts, storedUpstreams],
    ...[storedSchedules, storedGenerations, storedAttributes],
  ].map((stored) => [stored.kind, stored]),
);

/** A record that is read with an announcement. */
export interface ReadRecord extends RecordName<ControlKind> {
  readonly ttlSeconds: number;
  readonly stored: unknown;
}

/** The records that an announcement reads: those that a change may carry, without repetitions. */
export function carriedNames(names: readonly RecordName<ControlKind>[]): readonly RecordName<ControlKind>[] {
  const byKey = new Map(names.map((name) => [`${name.kind}:${name.id}`, name]));
  return [...byKey.values()]
    .filter(({ kind }) => carriedKinds.has(kind))
    .slice(0, limits.changeRecords.perAnnouncement);
}

/** One statement for each of {@link carriedNames}, to be executed in the transaction that reads the newest change. */
export function recordStatements(
  database: D1Database,
  names: readonly RecordName<ControlKind>[],
): readonly D1PreparedStatement[] {
  return names.map(({ kind, id }) => carriedKinds.get(kind)!.query.statement(database, id));
}

/** A record of another form is left out: its change is announced, and isolates that need the record respond with an error. */
export function readRecords(
  names: readonly RecordName<ControlKind>[],
  results: readonly D1Result<object>[],
): readonly ReadRecord[] {
  return names.flatMap(({ kind, id }, index) => {
    const { query, ttlSeconds } = carriedKinds.get(kind)!;
    try {
      return [{ kind, id, ttlSeconds, stored: query.read(results[index]!.results) }];
    } catch {
      return [];
    }
  });
}

/**
 * The changes, the last one of each record with the record as it was read in the transaction of the newest change `cv`: it contains every change up
 * to `cv`. A record that is too large is left out.
 */
export function carryRecords(
  changes: readonly NamedChange[],
  records: readonly ReadRecord[],
  cv: number,
): readonly NamedChange[] {
  const carried = new Map<number, CarriedRecord>();
  for (const { kind, id, stored } of records) {
    const last = changes.findLast((change) =>
      changedRecords(change).some((name) => name.kind === kind && name.id === id),
    );
    const text = JSON.stringify(stored ?? null);
    if (last !== undefined && text.length <= limits.changeRecords.eachCharacters)
      carried.set(last.version, { cv, text });
  }
  return changes.map((change) => ({ ...change, record: carried.get(change.version) }));
}

/**
 * **KV's copies of changed records**, written once for each change: isolates that hold a record receive it with the change, and do not read D1. In
 * the background; a copy that is not written is read from D1 by the isolates that need it. Cost: 1 KV write for each record.
 */
export class RecordCopies {
  readonly #ctx: DurableObjectState;
  readonly #env: SettingsVariables & CacheBindings;

  constructor(ctx: DurableObjectState, env: SettingsVariables & CacheBindings) {
    this.#ctx = ctx;
    this.#env = env;
  }

  /** The records contain every change up to `cv`. */
  write(records: readonly ReadRecord[], cv: number): void {
    const context = createRequestContext(new Request(this.#env.ISSUER), this.#env, this.#ctx);
    for (const { kind, id, ttlSeconds, stored } of records) {
      const copy: Copy<unknown> = { cv, readAtMs: context.arrivedAtMs, value: stored };
      if (stored !== undefined) writeCache(context, `${kind}:${id}`, copy, ttlSeconds);
    }
  }
}
