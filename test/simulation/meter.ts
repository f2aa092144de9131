import type { MeasuredDay } from "../../load-tests/model/measured-days.ts";

type Counts = Omit<MeasuredDay, "users" | "isolates" | "shards">;

/**
 * **Counts what the platform charges for**: calls and alarms of objects, the time for which each is awake, rows, queries, KV and messages. An object
 * is awake while a call is in progress, its own calls included, or a timer is pending.
 */
export class Meter {
  #counted = counts();
  readonly #wokeAtMs = new Map<string, number>();

  reset(): void {
    this.#counted = counts();
  }

  called(object: string, method: string): void {
    add(this.#counted.calls, `${storeOf(object)}.${method}`, 1);
  }

  woke(object: string, atMs: number): void {
    this.#wokeAtMs.set(object, atMs);
  }

  slept(object: string, atMs: number): void {
    add(this.#counted.awakeSeconds, storeOf(object), (atMs - (this.#wokeAtMs.get(object) ?? atMs)) / 1_000);
    this.#wokeAtMs.delete(object);
  }

  wrote(object: string, rows: number): void {
    add(this.#counted.rowsWritten, storeOf(object), rows);
  }

  queried(): void {
    this.#counted.databaseCalls += 1;
  }

  usedKv(how: "read" | "write"): void {
    if (how === "read") this.#counted.kvReads += 1;
    else this.#counted.kvWrites += 1;
  }

  queued(messages: number): void {
    this.#counted.messages += messages;
  }

  /** Counts the objects that are still awake. */
  end(atMs: number): void {
    for (const object of [...this.#wokeAtMs.keys()]) this.slept(object, atMs);
  }

  scaled(by: number): Counts {
    const one = (value: number) => Number((value * by).toPrecision(4));
    const all = (values: Readonly<Record<string, number>>) =>
      Object.fromEntries(
        Object.keys(values)
          .sort()
          .map((name) => [name, one(values[name]!)]),
      );
    const { calls, awakeSeconds, rowsWritten, databaseCalls, kvReads, kvWrites, messages } = this.#counted;
    return {
      calls: all(calls),
      awakeSeconds: all(awakeSeconds),
      rowsWritten: all(rowsWritten),
      databaseCalls: one(databaseCalls),
      kvReads: one(kvReads),
      kvWrites: one(kvWrites),
      messages: one(messages),
    };
  }
}

function counts() {
  return {
    calls: {} as Record<string, number>,
    awakeSeconds: {} as Record<string, number>,
    rowsWritten: {} as Record<string, number>,
    databaseCalls: 0,
    kvReads: 0,
    kvWrites: 0,
    messages: 0,
  };
}

function add(to: Record<string, number>, name: string, value: number): void {
  to[name] = (to[name] ?? 0) + value;
}

function storeOf(object: string): string {
  return object.split(":")[0]!;
}
