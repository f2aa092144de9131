import { type AuditLogBindings, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import {
  type AuditMessage,
  eventsOfMessages,
  type QueuedEvents,
  type RecordedGap,
} from "@edge-op/shared/audit/audit-event";
import { readSettings, type SettingsVariables } from "@edge-op/shared/config/settings";
import { reportFailure } from "@edge-op/shared/http/failure";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { log } from "@edge-op/shared/runtime/log";
import { hashEvent } from "./verify-chain.ts";
import { type StoredLink, writeEvents } from "./write-events.ts";

/** Events in one transaction, and characters of their payloads: with places and hashes they stay below the 2 MB that D1 takes as one value. */
const eventsAtOnce = 200;
const charactersAtOnce = 400_000;

/**
 * **Writes the audit queue's batches to the audit log** (audit/write-events.ts). An event that differs from the one its outbox hashed is omitted, so
 * that it is sent again; a link that does not fit its neighbours is written and reported (A3). Throws on failure, so that the Queue and the outbox
 * retry. The first batch of an isolate wakes `ControlPlane`, which keeps the log by its own alarm from then on.
 */
export function createAuditConsumer() {
  let isWoken = false;
  return async (
    messages: readonly QueuedEvents[],
    env: AuditLogBindings & SettingsVariables & { readonly AUDIT_DB: D1Database },
    execution: Pick<ExecutionContext, "waitUntil">,
  ): Promise<void> => {
    try {
      for (const events of inTransactions(eventsOfMessages(messages))) await write(events, env.AUDIT_DB);
    } catch (error) {
      reportFailure(error);
      throw error;
    }
    if (isWoken) return;
    isWoken = true;
    wakeAuditLog({ env, settings: readSettings(env), waitUntil: (promise) => execution.waitUntil(promise) });
  };
}

function inTransactions(events: readonly AuditMessage[]): AuditMessage[][] {
  const parts: AuditMessage[][] = [];
  let characters = 0;
  for (const event of events) {
    const last = parts.at(-1);
    characters += event.payload.length;
    if (last !== undefined && last.length < eventsAtOnce && characters <= charactersAtOnce) last.push(event);
    else {
      parts.push([event]);
      characters = event.payload.length;
    }
  }
  return parts;
}

async function write(received: readonly AuditMessage[], database: D1Database): Promise<void> {
  const events = await untampered(received);
  if (events.length === 0) return;
  const { gaps, neighbours } = await writeEvents(database, events, nowMs());
  reportGaps(gaps);
  for (const [shard, ofShard] of Map.groupBy(events, (event) => event.shard)) {
    reportBreaks(ofShard, neighbours.get(shard) ?? []);
  }
}

async function untampered(events: readonly AuditMessage[]): Promise<AuditMessage[]> {
  const hashes = await Promise.all(events.map(hashEvent));
  return events.filter((event, index) => {
    const intact = hashes[index] === event.hash;
    if (!intact) report(event.shard, event.seq, "the event is not what its outbox hashed");
    return intact;
  });
}

/** Reports broken links. A received event that is not stored was deleted by retention. */
function reportBreaks(received: readonly AuditMessage[], stored: readonly StoredLink[]): void {
  const hashes = new Map(stored.map(({ seq, hash }) => [seq, hash]));
  for (const { shard, seq, hash } of received) {
    const known = hashes.get(seq);
    if (known !== undefined && known !== hash) report(shard, seq, "another event has this place");
  }
  for (const { shard, seq, previous } of stored) {
    const before = hashes.get(seq - 1);
    if (before !== undefined && before !== previous) report(shard, seq, "the event before is not its own");
  }
}

function reportGaps(gaps: readonly RecordedGap[]): void {
  for (const { shard, fromSeq, toSeq } of gaps) log("audit-gap", { shard, fromSeq, toSeq });
}

function report(shard: string, seq: number, reason: string): void {
  log("audit-chain-broken", { shard, seq, reason });
}
