import { setTimeout as sleep } from "node:timers/promises";
import { explainReason } from "@edge-op/protocol/oauth/explain-reason";
import { isRefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { type Connection, connect } from "../connection/connection.ts";
import { type Call, type Command, textOption } from "../console/command.ts";
import { Failure } from "../console/failure.ts";
import { readText } from "../console/read-document.ts";
import { showMembers, Table } from "../console/show.ts";
import { readPages } from "../operations/print-list.ts";

type Line = Readonly<Record<string, unknown>>;

/** A refusal as the log has it, with what the reason means and what to do. */
function explain(reason: string, line: Line = {}): Line {
  const { code, detail, clientId, claimedClientId } = line;
  const client = clientId ?? claimedClientId;
  return {
    ...(client === undefined ? {} : { client_id: client }),
    ...(code === undefined ? {} : { error: code }),
    reason,
    ...(detail === undefined ? {} : { detail }),
    ...explainReason(reason),
  };
}

/**
 * The provider's lines in a log: its own lines of JSON, the objects of `wrangler tail --format json`, or exported records that have them in `source`
 * or `message`. Other lines are skipped.
 */
function readLog(text: string): Line[] {
  return text.split("\n").flatMap((line) => {
    const start = line.indexOf("{");
    return start < 0 ? [] : linesIn(parse(line.slice(start)));
  });
}

function linesIn(value: unknown): Line[] {
  if (typeof value === "string") return value.startsWith("{") ? linesIn(parse(value)) : [];
  if (Array.isArray(value)) return value.flatMap(linesIn);
  if (typeof value !== "object" || value === null) return [];
  const line = value as Line;
  if (typeof line["event"] === "string" && typeof line["requestId"] === "string") return [line];
  return [line["logs"], line["message"], line["source"]].flatMap(linesIn);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** An isolate reports its refusals a second later, and in a busy deployment after five. */
const againMs = 1_500;
const attempts = 4;

/** **`edge-op why`**: which rule refused a request, or the last ones of a client (ADR 57), and what the request changed. */
export const whyCommand: Command = {
  words: ["why"],
  summary: "Says which rule refused a request, with what, and what to change; and what the request changed.",
  arguments: [
    { name: "request", description: "The header Request-Id of the response, or a reason of the log.", optional: true },
  ],
  options: [
    { name: "client", kind: "text", description: "The last refusals of this client, instead of one request." },
    { name: "limit", kind: "number", description: "How many of them; 10 by default." },
    { name: "log", kind: "text", description: "A file with lines of the log; - is the standard input." },
  ],
  examples: [
    "edge-op why redirect-uri-not-registered",
    "edge-op why 01JD2K7Q9XW3",
    "edge-op why --client photos --limit 3",
    "npm run -s deploy -- tail token | edge-op why 01JD2K7Q9XW3 --log -",
  ],
  notes: [
    "A response never contains the reason. The deployment keeps the recent refusals for a day (scope admin:audit), as far as there are not too many; the log has every one.",
  ],
  async run(call) {
    const request = call.arguments["request"];
    const client = textOption(call, "client");
    if ((request === undefined) === (client === undefined))
      throw new Failure("usage", "Name a request, a reason, or --client <client_id>.");
    if (request === undefined) return printRefusalsOf(call, client!);
    if (isRefusalReason(request)) return print(call, { refusal: explain(request) });
    const log = textOption(call, "log");
    if (log !== undefined) return print(call, await readFromLog(call, request, log));
    const connection = connect(call);
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const [refusals, events] = await Promise.all([
        readFirst(connection, "/refusals", "refusals", { request_id: request }),
        readFirst(connection, "/audit", "events", { request_id: request }),
      ]);
      const [refusal] = refusals;
      if (refusal !== undefined || events.length > 0) {
        const told = { ...(refusal && { refusal }), ...(events.length === 0 ? {} : { events }) };
        return print(call, { request_id: request, ...told });
      }
      if (attempt < attempts) await sleep(againMs);
    }
    throw notRecorded(request);
  },
};

async function readFromLog({ terminal }: Call, request: string, log: string): Promise<Told> {
  const lines = readLog(log === "-" ? await terminal.readInput() : readText(log));
  const own = lines.filter(({ requestId }) => requestId === request);
  if (own.length === 0) throw new Failure("notFound", `The log has no line of the request ${request}.`);
  const refused = own.find(({ event }) => event === "refused");
  const others = own.filter(({ event }) => event !== "refused" && event !== "request");
  const refusal = refused === undefined ? {} : { refusal: explain(String(refused["reason"]), refused) };
  return { request_id: request, ...refusal, ...(others.length === 0 ? {} : { lines: others }) };
}

async function printRefusalsOf(call: Call, client: string): Promise<void> {
  const { limit = 10 } = call.options;
  const query = { client_id: client, limit: String(limit) };
  const refusals = await readFirst(connect(call), "/refusals", "refusals", query);
  const { terminal, json } = call;
  if (json) return terminal.write(`${JSON.stringify({ refusals }, null, 2)}\n`);
  if (refusals.length === 0) return terminal.note(`No request of the client ${client} was refused within a day.\n`);
  await terminal.write(refusals.map((refusal) => showMembers(shown(refusal))).join("\n"));
}

function notRecorded(request: string): Failure {
  return new Failure(
    "notFound",
    `The request ${request} is neither among the recent refusals nor in the audit log: it was not refused within a day, and changed nothing. The log has every refusal:\n  npm run -s deploy -- tail token | edge-op why ${request} --log -`,
  );
}

/** The items of a list's first page. */
async function readFirst(
  connection: Connection,
  path: string,
  member: string,
  query: Readonly<Record<string, string>>,
): Promise<readonly Line[]> {
  for await (const { items } of readPages(connection, { path, query, member, all: false })) return items;
  return [];
}

/** A refusal for people: each parameter in one line, and only what says something. */
function shown({ parameters, omitted_before: omitted, ...refusal }: Line): Line {
  const lines = Array.isArray(parameters) ? (parameters as readonly Line[]) : [];
  const told = lines.map(({ name, sent, registered }) => [
    String(name),
    { sent, ...(registered === undefined ? {} : { registered }) },
  ]);
  return { ...refusal, ...Object.fromEntries(told), ...(omitted === 0 ? {} : { omitted_before: omitted }) };
}

interface Told {
  readonly request_id?: string;
  readonly refusal?: Line;
  readonly lines?: readonly Line[];
  readonly events?: readonly Line[];
}

async function print({ terminal, json }: Call, told: Told): Promise<void> {
  if (json) return terminal.write(`${JSON.stringify(told, null, 2)}\n`);
  const { events, lines = [], refusal } = told;
  if (refusal !== undefined) await terminal.write(showMembers(shown(refusal)));
  for (const line of lines) await terminal.write(`\n${showMembers(line)}`);
  if (events !== undefined)
    await terminal.write(
      new Table(["time", "type", "sub", "client_id", "actor", "detail"], terminal.columns).add(events),
    );
}
