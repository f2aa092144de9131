import { setTimeout } from "node:timers/promises";
import type { Connection } from "../connection/connection.ts";
import { Failure } from "../console/failure.ts";
import { hashFault } from "./hash-text.ts";
import type { SourceUser } from "./read-users.ts";
import type { Json } from "./source-user.ts";

/** Limits of a request, below those of the API: 500 users and 256 KiB. */
const mostUsers = 250;
const mostBytes = 192 * 1024;
/** One line may have all of a request. */
const mostLineBytes = 255 * 1024;
const attempts = 5;

type Field = { readonly path: string; readonly message: string };

export interface LineReport<Result extends string = "created" | "exists" | "refused" | "left_out"> {
  /** From 1, over all files; `--skip` counts these. */
  readonly record: number;
  /** The line of its file at which the record begins. */
  readonly line: number;
  /** Only if there are several. */
  readonly file?: string;
  readonly sub?: unknown;
  readonly name?: string;
  readonly result: Result;
  readonly fields?: readonly Field[];
  readonly left_out?: readonly string[];
  /** The user is there without the hash, or without any other way to sign in. */
  readonly must_set_password?: boolean;
}

interface Numbered {
  readonly source: SourceUser;
  readonly record: number;
  /** The line that is sent; without one, the record is decided. */
  readonly line?: Json;
  readonly fields?: readonly Field[];
  readonly isHashDropped?: boolean;
}

interface ImportOptions {
  readonly isDryRun: boolean;
  /** Records of an earlier run. */
  readonly skip: number;
  readonly parallel: number;
  readonly withoutUnusableHashes: boolean;
  /** No further batch is sent. */
  readonly stop: AbortSignal;
  /** Roles and groups that give nothing here. */
  readonly withoutPermissions: Set<string>;
}

/**
 * **Sends users in batches, some at the same time**, and yields the report of each record, in the order of the files. Memory is that of the batches
 * in flight. A batch that the provider could not answer is sent again: the users that it has created exist then. One that it refuses as a whole is
 * halved, until the line is found for which it does.
 */
export async function* importBatches(
  connection: Connection,
  users: AsyncIterable<SourceUser>,
  options: ImportOptions,
): AsyncGenerator<readonly LineReport[]> {
  const flying: Promise<readonly LineReport[]>[] = [];
  try {
    for await (const batch of batchesOf(users, options)) {
      if (options.stop.aborted) break;
      const sent = reportBatch(connection, batch, options);
      // It is awaited later; until then nothing listens to its failure.
      sent.catch(() => undefined);
      flying.push(sent);
      if (flying.length >= options.parallel) yield await flying.shift()!;
    }
    while (flying.length > 0) yield await flying.shift()!;
  } finally {
    await Promise.allSettled(flying);
  }
}

async function* batchesOf(
  users: AsyncIterable<SourceUser>,
  { skip, withoutUnusableHashes }: ImportOptions,
): AsyncGenerator<readonly Numbered[]> {
  let batch: Numbered[] = [];
  let size = 0;
  let record = 0;
  for await (const source of users) {
    record += 1;
    if (record <= skip) continue;
    const { bytes, ...prepared } = prepare(source, withoutUnusableHashes);
    if (batch.length >= mostUsers || (batch.length > 0 && size + bytes > mostBytes)) {
      yield batch;
      [batch, size] = [[], 0];
    }
    batch.push({ source, record, ...prepared });
    size += bytes;
  }
  if (batch.length > 0) yield batch;
}

type Prepared = Omit<Numbered, "source" | "record"> & { readonly bytes: number };

/** What can be decided here. */
function prepare(source: SourceUser, withoutUnusableHashes: boolean): Prepared {
  const refused = (message: string, path = "") => ({ bytes: 0, fields: [{ path, message }] });
  if (source.kind !== "user") return source.kind === "refused" ? refused(source.reason) : { bytes: 0 };
  const fault = hashFault(source.user["password_hash"]);
  if (fault !== undefined && !withoutUnusableHashes) return refused(fault, "password_hash");
  const line = fault === undefined ? source.user : withoutHash(source.user);
  let bytes: number;
  try {
    bytes = Buffer.byteLength(JSON.stringify(line)) + 1;
  } catch {
    return refused("is nested too deeply");
  }
  const kibibytes = Math.ceil(bytes / 1024);
  if (bytes > mostLineBytes)
    return refused(`has ${kibibytes} KiB, and a request has ${mostLineBytes / 1024} KiB at most`);
  return { bytes, line, isHashDropped: fault !== undefined };
}

function withoutHash(line: Json): Json {
  const { password_hash: _, password_until: __, ...rest } = line;
  return rest;
}

async function reportBatch(
  connection: Connection,
  batch: readonly Numbered[],
  options: ImportOptions,
): Promise<readonly LineReport[]> {
  const { withoutUnusableHashes } = options;
  const sent = batch.filter(({ line }) => line !== undefined);
  const results = await sendLines(
    connection,
    sent.map(({ line }) => line!),
    options,
  );
  const resultOf = new Map(
    sent.map((each, index) => [each, { ...results[index]!, isHashDropped: each.isHashDropped }]),
  );
  if (withoutUnusableHashes) {
    const unusable = sent.filter((each) => isOnlyForHash(resultOf.get(each)!));
    const again = await sendLines(
      connection,
      unusable.map(({ line }) => withoutHash(line!)),
      options,
    );
    for (const [index, each] of unusable.entries()) resultOf.set(each, { ...again[index]!, isHashDropped: true });
  }
  return batch.map((each) => reportOf(each, resultOf.get(each)));
}

type Result = Pick<LineReport, "result" | "fields">;

function isOnlyForHash({ result, fields = [] }: Result): boolean {
  return result === "refused" && fields.length > 0 && fields.every(({ path }) => path === "password_hash");
}

function reportOf(
  { source, record, line, fields }: Numbered,
  sent: (Result & { readonly isHashDropped: boolean | undefined }) | undefined,
): LineReport {
  const place = { record, line: source.line, file: source.file };
  const named = { ...place, sub: line?.["sub"], ...(source.name === undefined ? {} : { name: source.name }) };
  if (source.kind === "leftOut") return { ...named, result: "left_out", left_out: [source.reason] };
  if (sent === undefined) return { ...named, result: "refused", fields: fields ?? [] };
  const { isHashDropped, ...result } = sent;
  const lost = [
    ...(source.kind === "user" ? source.leftOut : []),
    ...(isHashDropped === true && result.result !== "refused" ? ["password_hash, which cannot be used"] : []),
  ];
  const hasWay = ["password_hash", "passkeys", "identities"].some((member) => line?.[member] !== undefined);
  return {
    ...named,
    ...result,
    ...(lost.length === 0 ? {} : { left_out: lost }),
    ...(result.result === "created" && (isHashDropped === true || !hasWay) ? { must_set_password: true } : {}),
  };
}

/** The results, in the order of the lines. */
async function sendLines(
  connection: Connection,
  lines: readonly Json[],
  options: ImportOptions,
): Promise<readonly Result[]> {
  const { isDryRun, withoutPermissions } = options;
  if (lines.length === 0) return [];
  const body = { users: lines, ...(isDryRun ? { dry_run: true } : {}) };
  for (let attempt = 1; ; attempt += 1) {
    try {
      const response = await connection.send({ method: "POST", path: "/import/users", body });
      const { results, without_permissions: without = [] } = response.body;
      for (const name of Array.isArray(without) ? without : []) withoutPermissions.add(String(name));
      if (Array.isArray(results) && results.length === lines.length) return results as readonly Result[];
      throw new Failure("unavailable", "The provider's response does not have a result for each line.");
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (error.outcome === "unavailable" && attempt < attempts) await setTimeout(attempt * 1000);
      else if (!isAboutLines(error, lines)) throw error;
      else if (lines.length === 1) return [{ result: "refused", fields: fieldsOf(error) }];
      else {
        const middle = Math.ceil(lines.length / 2);
        const halves = [lines.slice(0, middle), lines.slice(middle)];
        // One after the other: a file of such lines must not multiply the requests at the same time.
        const first = await sendLines(connection, halves[0]!, options);
        return [...first, ...(await sendLines(connection, halves[1]!, options))];
      }
    }
  }
}

/** Whether other lines could be accepted: not without the scope of the request itself. */
function isAboutLines({ outcome }: Failure, lines: readonly Json[]): boolean {
  const hasRoles = lines.some((line) => line["roles"] !== undefined || line["groups"] !== undefined);
  return outcome === "refused" || outcome === "conflict" || (outcome === "noRights" && hasRoles);
}

export function fieldsOf({ message, detail }: Failure): readonly Field[] {
  const fields = detail["fields"] as readonly Field[] | undefined;
  const own = fields?.map(({ path, message: why }) => ({ path: path.replace(/^users\[0\]\.?/, ""), message: why }));
  return own ?? [{ path: "", message: message.replaceAll(/\n\s*/g, " ") }];
}
