import { encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { chainStart, eventColumns, type StoredEvent } from "@edge-op/shared/audit/audit-event";
import {
  decodeSegment,
  digestOf,
  encodeSegment,
  identityFilter,
  isManifest,
  manifestKeyOf,
  type Segment,
} from "@edge-op/shared/audit/segment";
import { limits } from "@edge-op/shared/config/limits";
import { within } from "@edge-op/shared/runtime/deadline";
import { log } from "@edge-op/shared/runtime/log";
import { queryAuditDatabase } from "@edge-op/shared/storage/query-database";
import {
  afterCreate,
  afterInspect,
  afterList,
  afterOpen,
  afterRead,
  afterReplace,
  type CutRules,
  type FoundManifest,
  type FoundObject,
  type SealStep,
  type Unsealed,
  type UnsealedEvent,
  withSegment,
} from "./seal-machine.ts";

export const segmentEvents = 5_000;
const segmentsPerRun = 3;
const mostSteps = 40 * segmentsPerRun;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Half of the database: beyond it, events are sealed before their time. */
const mostEventsOfDatabase = 8_000_000;
const expiredAtOnce = 100;

type Row = Omit<UnsealedEvent, "isSettled"> & { readonly isSettled: 0 | 1 };

/**
 * **Moves the log from D1 to R2**: seals what is older than the recent days as segments (seal-machine.ts), and deletes segments after the retention.
 * Without the bucket, nothing. Cost of a round with nothing to do: 2 D1 calls; of a segment of 5,000 events: 2 D1 calls, 4 R2 calls.
 */
export class AuditArchive {
  readonly #database: D1Database;
  readonly #bucket: R2Bucket;
  readonly #segmentEvents: number;

  constructor(database: D1Database, bucket: R2Bucket, most = segmentEvents) {
    this.#database = database;
    this.#bucket = bucket;
    this.#segmentEvents = most;
  }

  /** Returns whether more is to be sealed or deleted now. A failing bucket only delays it: nothing leaves D1 meanwhile. */
  async run(nowMs: number, { epoch, recentDays, retentionDays }: ArchiveRules): Promise<boolean> {
    const rules = { epoch, most: this.#segmentEvents, waitMs: recentDays === 0 ? hourMs : dayMs };
    try {
      const isSealing = await this.#seal(nowMs, { ...rules, cutoffMs: nowMs - recentDays * dayMs });
      const isExpiring = await this.#expire(nowMs - retentionDays * dayMs);
      return isSealing || isExpiring;
    } catch (cause) {
      log("audit-export-failed", { cause: String(cause instanceof Error ? (cause.cause ?? cause) : cause) });
      return false;
    }
  }

  async #seal(nowMs: number, given: CutRules): Promise<boolean> {
    const held = await this.#countEvents();
    const rules = held > mostEventsOfDatabase ? { ...given, cutoffMs: nowMs, waitMs: 0 } : given;
    let released = 0;
    let step: SealStep = { kind: "read" };
    for (let steps = 0; step.kind !== "done"; steps += 1) {
      if (steps > mostSteps) throw new Error("another sealer is always first");
      if (step.kind === "release") released += 1;
      step = await this.#perform(step, rules);
      if (released === segmentsPerRun) return true;
    }
    return false;
  }

  async #perform(step: SealStep, rules: CutRules): Promise<SealStep> {
    switch (step.kind) {
      case "read":
        return afterRead(await this.#read(), rules);
      case "create":
        await this.#put(step.part.key, await encodeSegment(step.part.events), undefined);
        return afterCreate(step.part);
      case "inspect":
        return afterInspect(step.part, await this.#inspect(step.part.key));
      case "open":
        return afterOpen(step.part, step.found, await this.#open(step.part.key));
      case "replace":
        await this.#put(step.part.key, await encodeSegment(step.part.events), step.etag);
        return afterReplace(step.part);
      case "list": {
        const text = `${JSON.stringify(withSegment(step.manifest, step.segment), null, 1)}\n`;
        const key = manifestKeyOf(step.segment.key);
        return afterList(step, await this.#put(key, encodeUtf8(text), step.manifest.etag));
      }
      case "release":
        await this.#release(step.segment, step.events);
        return { kind: "read" };
      case "done":
        return step;
    }
  }

  async #countEvents(): Promise<number> {
    const select = this.#database.prepare(
      "SELECT coalesce(max(position) - min(position) + 1, 0) AS events FROM audit_events",
    );
    return (await queryAuditDatabase(() => select.first<{ events: number }>()))!.events;
  }

  async #read(): Promise<Unsealed> {
    const [rows, anchors] = await queryAuditDatabase(() =>
      this.#database.batch<Row & { readonly hash: string }>([
        this.#database
          .prepare(
            `SELECT ${eventColumns}, e.seq <= coalesce(w.seq, 0) AS isSettled
               FROM audit_events e LEFT JOIN audit_watermarks w ON w.shard = e.shard ORDER BY e.position LIMIT ?1`,
          )
          .bind(this.#segmentEvents),
        this.#database.prepare("SELECT lower(hex(hash)) AS hash FROM audit_anchors WHERE shard = ''"),
      ]),
    );
    const events = rows!.results.map(({ isSettled, ...event }) => ({ ...event, isSettled: isSettled === 1 }));
    return { events, before: anchors!.results[0]?.hash ?? chainStart };
  }

  /** Writes an object if it is still the one with this etag, or absent. Returns whether it was. */
  async #put(key: string, content: BufferSource, etag: string | undefined): Promise<boolean> {
    const onlyIf = etag === undefined ? new Headers({ "if-none-match": "*" }) : { etagMatches: etag };
    const bytes = ArrayBuffer.isView(content) ? content : new Uint8Array(content);
    const contentType = key.endsWith(".json") ? "application/json" : "application/x-ndjson";
    const put = this.#bucket.put(key, bytes, { onlyIf, httpMetadata: { contentType }, sha256: await digestOf(bytes) });
    return (await inTime(put)) !== null;
  }

  async #inspect(key: string): Promise<FoundObject | undefined> {
    const found = await inTime(this.#bucket.get(key));
    if (found === null) return undefined;
    const bytes = await inTime(found.arrayBuffer());
    const events = await decodeSegment(bytes).catch(() => undefined);
    return { etag: found.etag, digest: await digestOf(bytes), events };
  }

  async #open(key: string): Promise<FoundManifest> {
    const found = await inTime(this.#bucket.get(manifestKeyOf(key)));
    if (found === null) return { etag: undefined, segments: [] };
    const { segments } = readStored("manifest of segments", await inTime(found.text()), isManifest);
    return { etag: found.etag, segments };
  }

  /** The condition is true in the first statement only if D1 begins with this segment; in the others, if it has its row. */
  async #release({ from, to, key, ...segment }: Segment, events: readonly StoredEvent[]): Promise<void> {
    const isNamed = "EXISTS (SELECT 1 FROM audit_segments WHERE to_position = ?1)";
    const statements = [
      this.#database
        .prepare(
          `INSERT INTO audit_segments (to_position, from_position, from_ms, to_ms, key, digest, before, chain, identities)
             SELECT ?1, ?2, ?3, ?4, ?5, unhex(?6), unhex(?7), unhex(?8), ?9
               WHERE (SELECT min(position) FROM audit_events) = ?2
                 AND EXISTS (SELECT 1 FROM audit_events WHERE position = ?1 AND chain = unhex(?8))`,
        )
        .bind(
          ...[to, from, segment.fromMs, segment.toMs, key, segment.digest, segment.before, segment.chain],
          identityFilter(events),
        ),
      this.#database
        .prepare(
          `INSERT INTO audit_anchors (shard, seq, hash)
             SELECT shard, max(seq), hash FROM audit_events WHERE position <= ?1 AND ${isNamed} GROUP BY shard
             ON CONFLICT (shard) DO UPDATE SET seq = excluded.seq, hash = excluded.hash WHERE excluded.seq > seq`,
        )
        .bind(to),
      this.#database
        .prepare(
          `INSERT INTO audit_anchors (shard, seq, hash) SELECT '', position, chain FROM audit_events WHERE position = ?1 AND ${isNamed}
             ON CONFLICT (shard) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`,
        )
        .bind(to),
      this.#database.prepare(`DELETE FROM audit_events WHERE position <= ?1 AND ${isNamed}`).bind(to),
    ];
    await queryAuditDatabase(() => this.#database.batch(statements), limits.databaseCommitMs);
  }

  /** From the oldest segment on: first the object, then the manifest of a day without segments, then the row, which a crash leaves to be repeated. */
  async #expire(beforeMs: number): Promise<boolean> {
    const select = this.#database
      .prepare(
        `WITH oldest AS (SELECT to_position, key, to_ms FROM audit_segments ORDER BY to_position LIMIT ?2)
         SELECT to_position AS "to", key FROM oldest
           WHERE to_position < coalesce((SELECT min(to_position) FROM oldest WHERE to_ms >= ?1), ?3) ORDER BY to_position`,
      )
      .bind(beforeMs, expiredAtOnce, Number.MAX_SAFE_INTEGER);
    const { results } = await queryAuditDatabase(() => select.all<Pick<Segment, "to" | "key">>());
    const last = results.at(-1);
    if (last === undefined) return false;
    const manifests = [...new Set(results.map(({ key }) => manifestKeyOf(key)))];
    const others = this.#database
      .prepare(
        `SELECT value AS key FROM json_each(?1) WHERE NOT EXISTS (SELECT 1 FROM audit_segments
           WHERE key >= replace(value, 'manifest.json', '') AND key < value AND to_position > ?2)`,
      )
      .bind(JSON.stringify(manifests), last.to);
    const emptied = await queryAuditDatabase(() => others.all<{ key: string }>());
    await inTime(this.#bucket.delete(results.map(({ key }) => key)));
    if (emptied.results.length > 0) await inTime(this.#bucket.delete(emptied.results.map(({ key }) => key)));
    const end = this.#database.prepare("DELETE FROM audit_segments WHERE to_position <= ?1").bind(last.to);
    await queryAuditDatabase(() => end.run(), limits.databaseCommitMs);
    return results.length === expiredAtOnce;
  }
}

export interface ArchiveRules {
  /** How often the database was restored: histories that differ are not written over each other. */
  readonly epoch: number;
  readonly recentDays: number;
  readonly retentionDays: number;
}

function inTime<T>(work: Promise<T>): Promise<T> {
  return within(limits.databaseCommitMs, work, () => {
    throw new Error(`no response within ${limits.databaseCommitMs} ms`);
  });
}
