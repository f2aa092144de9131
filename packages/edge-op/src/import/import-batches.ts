import { setTimeout } from "node:timers/promises";
import type { Connection } from "../connection/connection.ts";
import { Failure } from "../console/failure.ts";
import type { SourceUser } from "./source-user.ts";

/** Limits of a request, below those of the API: 500 users and 256 KiB. */
const mostUsers = 250;
const mostBytes = 192 * 1024;
const attempts = 5;

export interface LineReport {
  /** From 1. */
  readonly line: number;
  readonly sub: unknown;
  readonly result: "created" | "exists" | "refused";
  readonly fields?: readonly { readonly path: string; readonly message: string }[];
  readonly left_out?: readonly string[];
}

interface Numbered extends SourceUser {
  readonly number: number;
  readonly bytes: number;
}

interface ImportOptions {
  readonly isDryRun: boolean;
  /** Lines of an earlier run. */
  readonly skip: number;
  readonly parallel: number;
}

/**
 * **Sends users in batches, some at the same time**, and yields the reports of each, in the order of the file. Memory is that of the batches in flight. A
 * batch that the provider could not answer is sent again: the users that it has created exist then.
 */
export async function* importBatches(
  connection: Connection,
  users: AsyncIterable<SourceUser>,
  { isDryRun, skip, parallel }: ImportOptions,
): AsyncGenerator<readonly LineReport[]> {
  const flying: Promise<readonly LineReport[]>[] = [];
  try {
    for await (const batch of batchesOf(users, skip)) {
      const sent = sendBatch(connection, batch, isDryRun);
      // It is awaited later; until then nothing listens to its failure.
      sent.catch(() => undefined);
      flying.push(sent);
      if (flying.length >= parallel) yield await flying.shift()!;
    }
    while (flying.length > 0) yield await flying.shift()!;
  } finally {
    await Promise.allSettled(flying);
  }
}

async function* batchesOf(users: AsyncIterable<SourceUser>, skip: number): AsyncGenerator<readonly Numbered[]> {
  let batch: Numbered[] = [];
  let size = 0;
  let number = 0;
  for await (const user of users) {
    number += 1;
    if (number <= skip) continue;
    const bytes = Buffer.byteLength(JSON.stringify(user.line)) + 1;
    if (batch.length >= mostUsers || (batch.length > 0 && size + bytes > mostBytes)) {
      yield batch;
      [batch, size] = [[], 0];
    }
    batch.push({ ...user, number, bytes });
    size += bytes;
  }
  if (batch.length > 0) yield batch;
}

async function sendBatch(
  connection: Connection,
  batch: readonly Numbered[],
  isDryRun: boolean,
): Promise<readonly LineReport[]> {
  const body = { users: batch.map(({ line }) => line), ...(isDryRun ? { dry_run: true } : {}) };
  for (let attempt = 1; ; attempt += 1) {
    try {
      const response = await connection.send({ method: "POST", path: "/import/users", body });
      const results = response.body["results"] as readonly Pick<LineReport, "result" | "fields">[];
      return batch.map(({ number, line, leftOut }, index) => ({
        ...{ line: number, sub: line.sub, ...results[index]! },
        ...(leftOut.length === 0 ? {} : { left_out: leftOut }),
      }));
    } catch (error) {
      const isAway = error instanceof Failure && error.outcome === "unavailable";
      if (!isAway || attempt === attempts) throw error;
      await setTimeout(attempt * 1000);
    }
  }
}
