import {
  isFlag,
  isNumber,
  isText,
  listOf,
  objectOf,
  readStored,
  recordOf,
} from "@edge-op/protocol/encoding/stored-json";
import type { RefusalQuery, ReportedRefusal, StoredRefusal } from "@edge-op/shared/audit/audit-log-rpc";
import { LineBudget } from "@edge-op/shared/runtime/line-budget";

const keptMs = 86_400_000;
/** Rows of clients that exist, and of all other senders: neither can push out the other. */
const mostRows = { known: 7_500, unknown: 2_500 } as const;
/** When there are too many, this part is kept, so that rows are seldom counted by client. */
const keptPart = 0.9;
/** A longer refusal is stored without what was sent. */
const longestRow = 4_096;
const sweptRows = 1_000;
const mostBudgets = 1_000;

type Sender = keyof typeof mostRows;

const isStored = objectOf<Omit<StoredRefusal, "id">>({
  atMs: isNumber,
  requestId: isText,
  isAuthenticated: isFlag,
  isKnownClient: isFlag,
  code: isText,
  reason: isText,
  detail: isText,
  sent: recordOf(listOf(isText)),
  omittedBefore: isNumber,
});

/**
 * **The recent refusals of the deployment** (ADR 57), for the question why a request was refused: a ring, bounded in rows, bytes and time, in which a
 * busy client displaces its own rows first. Best effort. Cost: three rows written for each refusal, at most 12 refusals a second.
 *
 *   refusals(id, client, is_known, request_id, until_ms, refusal)     ends: 24 hours, or when there are too many
 */
export class RecentRefusals {
  readonly #sql: SqlStorage;
  readonly #storage: DurableObjectStorage;
  readonly #budgets: Readonly<Record<Sender, LineBudget>> = {
    known: new LineBudget({ perSecond: 10, burst: 300 }),
    unknown: new LineBudget({ perSecond: 2, burst: 100 }),
  };
  readonly #ofClient = new Map<string, LineBudget>();
  #omitted = 0;
  #count: Record<Sender, number> | undefined;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS refusals (
        id INTEGER PRIMARY KEY AUTOINCREMENT, client TEXT NOT NULL, is_known INTEGER NOT NULL, request_id TEXT NOT NULL,
        until_ms INTEGER NOT NULL, refusal TEXT NOT NULL);
      CREATE INDEX IF NOT EXISTS refusals_by_client ON refusals (client, id);
      CREATE INDEX IF NOT EXISTS refusals_by_request ON refusals (request_id);`);
  }

  /** Returns whether there are more than can be recorded, and when the first row ends. */
  record(refusals: readonly ReportedRefusal[], omitted: number, nowMs: number) {
    const accepted = refusals.filter((refusal) => this.#takePlace(refusal, nowMs));
    this.#omitted += omitted + refusals.length - accepted.length;
    if (accepted.length > 0) this.#storage.transactionSync(() => this.#insert(accepted, nowMs));
    const isBusy = omitted > 0 || accepted.length < refusals.length;
    return { isBusy, dueMs: accepted.length === 0 ? undefined : nowMs + keptMs };
  }

  #takePlace(refusal: ReportedRefusal, nowMs: number): boolean {
    const sender = senderOf(refusal);
    if (sender === "known" && !this.#budgetOf(refusal.clientId ?? "").take(nowMs)) return false;
    return this.#budgets[sender].take(nowMs);
  }

  #budgetOf(client: string): LineBudget {
    const known = this.#ofClient.get(client);
    if (known !== undefined) return known;
    if (this.#ofClient.size >= mostBudgets) this.#ofClient.clear();
    const budget = new LineBudget({ perSecond: 1, burst: 100 });
    this.#ofClient.set(client, budget);
    return budget;
  }

  #insert(refusals: readonly ReportedRefusal[], nowMs: number): void {
    const count = this.#counted();
    for (const refusal of refusals) {
      const { clientId = "", isKnownClient, requestId } = refusal;
      const stored = { ...refusal, atMs: Math.min(refusal.atMs, nowMs), omittedBefore: this.#omitted };
      const whole = JSON.stringify(stored);
      const text = whole.length > longestRow ? JSON.stringify({ ...stored, sent: {} }) : whole;
      this.#sql.exec(
        "INSERT INTO refusals (client, is_known, request_id, until_ms, refusal) VALUES (?, ?, ?, ?, ?)",
        ...[clientId, isKnownClient ? 1 : 0, requestId, nowMs + keptMs, text],
      );
      count[senderOf(refusal)] += 1;
      this.#omitted = 0;
    }
    for (const sender of ["known", "unknown"] as const) if (count[sender] > mostRows[sender]) this.#trim(sender);
  }

  #counted(): Record<Sender, number> {
    this.#count ??= { known: this.#rowsOf("known"), unknown: this.#rowsOf("unknown") };
    return this.#count;
  }

  #rowsOf(sender: Sender): number {
    const select = "SELECT COUNT(*) AS rows FROM refusals WHERE is_known = ?";
    return this.#sql.exec<{ rows: number }>(select, isKnown(sender)).one().rows;
  }

  /** For clients that exist, the one with the most rows loses some first. Other senders may have any name, so their oldest rows are deleted. */
  #trim(sender: Sender): void {
    const target = Math.floor(mostRows[sender] * keptPart);
    if (sender === "known") {
      const select = "SELECT client, COUNT(*) AS rows FROM refusals WHERE is_known = 1 GROUP BY client";
      const clients = this.#sql.exec<{ client: string; rows: number }>(select).toArray();
      const counts = clients.map(({ rows }) => rows);
      const level = Math.max(1, fairLevel(counts, target));
      for (const { client, rows } of clients) {
        if (rows > level) this.#deleteOldest("is_known = 1 AND client = ?", client, rows - level);
      }
    }
    const rest = this.#rowsOf(sender) - target;
    if (rest > 0) this.#deleteOldest("is_known = ?", isKnown(sender), rest);
    this.#counted()[sender] = this.#rowsOf(sender);
  }

  #deleteOldest(condition: string, value: string | number, rows: number): void {
    this.#sql.exec(
      `DELETE FROM refusals WHERE id IN (SELECT id FROM refusals WHERE ${condition} ORDER BY id LIMIT ?)`,
      ...[value, rows],
    );
  }

  list({ requestId, clientId, before, limit }: RefusalQuery): readonly StoredRefusal[] {
    const values: (string | number)[] = [];
    const conditions: string[] = [];
    const require = (condition: string, value: string | number | undefined) => {
      if (value === undefined) return;
      conditions.push(condition);
      values.push(value);
    };
    require("request_id = ?", requestId);
    require("client = ?", clientId);
    require("id < ?", before);
    const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
    const select = `SELECT id, refusal FROM refusals ${where} ORDER BY id DESC LIMIT ?`;
    const rows = this.#sql.exec<{ id: number; refusal: string }>(select, ...values, limit).toArray();
    return rows.map(({ id, refusal }) => ({ ...readStored("refusal", refusal, isStored), id }));
  }

  /** The task of the alarm. Rows end in the order of their numbers. */
  sweep(atMs: number, passedMs: number): number | undefined {
    const oldest = "SELECT id FROM refusals ORDER BY id LIMIT ?";
    this.#sql.exec(`DELETE FROM refusals WHERE id IN (${oldest}) AND until_ms <= ?`, sweptRows, passedMs);
    this.#count = undefined;
    const next = this.#sql.exec<{ until: number }>("SELECT until_ms AS until FROM refusals ORDER BY id LIMIT 1");
    const [row] = next.toArray();
    return row && Math.max(row.until, atMs + 1_000);
  }
}

function senderOf({ isKnownClient }: ReportedRefusal): Sender {
  return isKnownClient ? "known" : "unknown";
}

function isKnown(sender: Sender): number {
  return sender === "known" ? 1 : 0;
}

/**
 * **The highest number of rows that each group may keep so that all together keep at most `target`**: a small group keeps everything, and the largest
 * lose rows first. Pure.
 */
export function fairLevel(counts: readonly number[], target: number): number {
  let left = target;
  const ascending = counts.toSorted((one, other) => one - other);
  for (const [index, count] of ascending.entries()) {
    const level = Math.floor(left / (ascending.length - index));
    if (count > level) return level;
    left -= count;
  }
  return Number.POSITIVE_INFINITY;
}
