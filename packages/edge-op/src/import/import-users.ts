import { statSync } from "node:fs";
import { basename } from "node:path";
import { connect } from "../connection/connection.ts";
import { type Call, hasFlag, listOption, textOption } from "../console/command.ts";
import { Failure, type Outcome, usageFailure } from "../console/failure.ts";
import { Progress } from "../console/progress.ts";
import { importBatches } from "./import-batches.ts";
import { readUsers, userReaders } from "./read-users.ts";
import { finishImport, Report } from "./report.ts";
import { sourceFiles } from "./source-files.ts";
import type { ReaderOptions } from "./source-user.ts";

function readerOptions(call: Call): ReaderOptions {
  const pairs = listOption(call, "upstreams").map((pair): [string, string] => {
    const at = pair.indexOf("=");
    if (at < 1) throw usageFailure(`--upstreams must be name=upstream_id, not "${pair}".`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return {
    upstreams: new Map(pairs),
    withRoles: hasFlag(call, "with-roles"),
    beside: textOption(call, "beside"),
    withoutUnusableHashes: hasFlag(call, "without-unusable-hashes"),
  };
}

function wholeNumber({ options }: Call, name: string, [least, most]: readonly [number, number], by: number): number {
  const value = options[name] ?? by;
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
  throw usageFailure(`--${name} must be a whole number from ${least} to ${most}.`);
}

/** Ctrl-C: no further batch is sent. The second time, the process ends. */
function stopOnInterrupt() {
  const controller = new AbortController();
  const stop = () => controller.abort();
  process.once("SIGINT", stop);
  return { signal: controller.signal, forget: () => process.off("SIGINT", stop) };
}

/** Runs `edge-op import users`. Every record that was read is in exactly one of the counts. */
export async function importUsers(call: Call): Promise<Outcome> {
  const path = call.arguments["path"]!;
  const reader = userReaders[textOption(call, "from") ?? "jsonl"]!;
  const skip = wholeNumber(call, "skip", [0, Number.MAX_SAFE_INTEGER], 0);
  const parallel = wholeNumber(call, "parallel", [1, 16], 4);
  const isDryRun = hasFlag(call, "dry-run");
  const readOptions = readerOptions(call);
  const files = sourceFiles(path);
  const size = files.reduce((sum, file) => sum + statSync(file).size, 0);
  let [bytes, read, done] = [0, 0, skip];
  async function* counted() {
    for await (const user of readUsers(reader, path, readOptions, (count) => (bytes += count))) {
      read += 1;
      yield user;
    }
  }
  const connection = connect(call);
  const progress = new Progress(call.terminal, "records");
  const report = new Report(call, progress);
  const counts = { created: 0, exists: 0, refused: 0, left_out: 0, must_set_password: 0 };
  const interrupt = stopOnInterrupt();
  const withoutPermissions = new Set<string>();
  const options = { isDryRun, skip, parallel, ...readOptions, stop: interrupt.signal, withoutPermissions };
  try {
    for await (const lines of importBatches(connection, counted(), options)) {
      for (const { file, must_set_password: must, ...line } of lines) {
        counts[line.result] += 1;
        if (must === true) counts.must_set_password += 1;
        report.add({ ...line, ...(files.length > 1 && file !== undefined ? { file: basename(file) } : {}) });
      }
      done = lines.at(-1)!.record;
      if (!call.json) progress.show(done, size === 0 ? undefined : bytes / size);
    }
    if (interrupt.signal.aborted) throw new Failure("unavailable", "Interrupted.");
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const how = done === skip ? "" : `\n${done} records are done: the same command with --skip ${done} continues.`;
    throw new Failure(error.outcome, error.message + how, { ...error.detail, ...counts, done }, { cause: error });
  } finally {
    interrupt.forget();
    progress.end();
    report.close();
  }
  const { created, exists, refused, left_out: left } = counts;
  const records = Math.max(0, read - skip);
  if (records !== created + exists + refused + left) {
    throw new Failure(
      "refused",
      `${records} records were read, and the counts have another sum. Please report it.`,
      counts,
    );
  }
  const without = withoutPermissions.size === 0 ? {} : { without_permissions: [...withoutPermissions].toSorted() };
  return finishImport(call, { ...(isDryRun ? { dry_run: true } : {}), read: records, ...counts, ...without });
}
