import { statSync } from "node:fs";
import { type Connection, connect } from "../connection/connection.ts";
import type { Call, Command } from "../console/command.ts";
import { Failure, type Outcome } from "../console/failure.ts";
import { Progress } from "../console/progress.ts";
import { fieldsOf, type LineReport } from "./import-batches.ts";
import { readRecords, type SourceRecord } from "./read-records.ts";
import { finishImport, Report, reportOption } from "./report.ts";
import { sourceFiles } from "./source-files.ts";
import { isObject, type Json } from "./source-user.ts";

/** Limits of a request: as many users as the API takes, and fewer bytes than its 256 KiB. */
const mostUsers = 200;
const mostBytes = 192 * 1024;
const parallel = 4;

interface Numbered {
  readonly record: number;
  readonly source: SourceRecord;
}

type Reported = Pick<LineReport<"updated" | "unchanged" | "refused">, "result" | "fields">;

/** **`edge-op update users`**: changes of many users from a file, in batches of which some are under way at the same time. */
export const updateCommand: Command = {
  words: ["update", "users"],
  summary: "Changes many users from a file. The exit code is 1 if a line was refused.",
  arguments: [
    { name: "path", description: "A file of lines or a list, or a folder of them; also compressed with gzip." },
  ],
  options: [reportOption],
  examples: ["edge-op update users cost-centres.jsonl --report refused.jsonl"],
  notes: [
    "Scope: admin:users, and each admin scope of the roles of these users. Requests: POST /admin/update/users.",
    'A line has the sub and what changes: {"sub": "alice", "attributes": {"cost_centre": "4711"}}. Members that it does not name stay, null removes one. With "if_match", the ETag of the user, it applies to that version alone.',
    "Addresses, usernames, passwords and the status are changed by edge-op users update, one by one. A line that is refused is reported, and all others apply; the same command can be repeated.",
  ],
  run: updateUsers,
};

async function updateUsers(call: Call): Promise<Outcome> {
  const path = call.arguments["path"]!;
  const connection = connect(call);
  const size = sourceFiles(path).reduce((sum, file) => sum + statSync(file).size, 0);
  const progress = new Progress(call.terminal, "lines");
  const report = new Report(call, progress);
  const counts = { read: 0, updated: 0, unchanged: 0, refused: 0 };
  let bytes = 0;
  const flying: Promise<readonly (Numbered & Reported)[]>[] = [];
  const count = (results: readonly (Numbered & Reported)[]) => {
    for (const { record, source, result, fields } of results) {
      counts[result] += 1;
      const sub = isObject(source.value) ? source.value["sub"] : undefined;
      report.add({ record, line: source.line, sub, result, ...(fields && { fields }) });
    }
    if (!call.json)
      progress.show(counts.updated + counts.unchanged + counts.refused, size === 0 ? undefined : bytes / size);
  };
  try {
    for await (const batch of batchesOf(readRecords(path, { lists: ["users"] }, (read) => (bytes += read)))) {
      counts.read += batch.length;
      const sent = decideBatch(connection, batch);
      sent.catch(() => undefined);
      flying.push(sent);
      if (flying.length >= parallel) count(await flying.shift()!);
    }
    while (flying.length > 0) count(await flying.shift()!);
  } finally {
    await Promise.allSettled(flying);
    progress.end();
    report.close();
  }
  return finishImport(call, counts);
}

async function* batchesOf(records: AsyncIterable<SourceRecord>): AsyncGenerator<readonly Numbered[]> {
  let [batch, size, record]: [Numbered[], number, number] = [[], 0, 0];
  for await (const source of records) {
    record += 1;
    const bytes = Buffer.byteLength(JSON.stringify(source.value ?? null));
    if (batch.length === mostUsers || (batch.length > 0 && size + bytes > mostBytes)) {
      yield batch;
      [batch, size] = [[], 0];
    }
    batch.push({ record, source });
    size += bytes;
  }
  if (batch.length > 0) yield batch;
}

/** What cannot be sent is refused here. */
async function decideBatch(connection: Connection, batch: readonly Numbered[]): Promise<(Numbered & Reported)[]> {
  const lines = batch.filter(({ source }) => isObject(source.value));
  const results = await sendLines(
    connection,
    lines.map(({ source }) => source.value as Json),
  );
  const resultOf = new Map(lines.map((line, index) => [line, results[index]!]));
  const refused = (message = "must be an object"): Reported => ({ result: "refused", fields: [{ path: "", message }] });
  return batch.map((line) => ({ ...line, ...(resultOf.get(line) ?? refused(line.source.fault)) }));
}

/** A request that is refused as a whole is halved, until the line is found for which it is. */
async function sendLines(connection: Connection, lines: readonly Json[]): Promise<readonly Reported[]> {
  if (lines.length === 0) return [];
  try {
    const { body } = await connection.send({ method: "POST", path: "/update/users", body: { users: lines } });
    return body["results"] as readonly Reported[];
  } catch (error) {
    const isAboutLines =
      error instanceof Failure && ["refused", "conflict", "noRights"].includes(error.outcome) && !isOfAll(error, lines);
    if (!isAboutLines) throw error;
    if (lines.length === 1) return [{ result: "refused", fields: fieldsOf(error) }];
    const middle = Math.ceil(lines.length / 2);
    const first = await sendLines(connection, lines.slice(0, middle));
    return [...first, ...(await sendLines(connection, lines.slice(middle)))];
  }
}

/** Without the scope of the request itself, no line could be accepted. */
function isOfAll({ outcome, message }: Failure, lines: readonly Json[]): boolean {
  return outcome === "noRights" && lines.length > 0 && message.includes("admin:users");
}
