import { isRefusalReason, refusalReasons } from "@edge-op/protocol/oauth/refusal-reasons";
import { refusalRemedies } from "@edge-op/protocol/oauth/refusal-remedies";
import { type Connection, connect } from "../connection/connection.ts";
import { type Call, type Command, textOption } from "../console/command.ts";
import { Failure } from "../console/failure.ts";
import { readText } from "../console/read-document.ts";
import { showMembers, Table } from "../console/show.ts";
import type { ApiDocument } from "../operations/api-document.ts";
import { readPages } from "../operations/print-list.ts";

type Line = Readonly<Record<string, unknown>>;

/** A refusal as the log has it, with what the reason means and what to do. */
function explain(reason: string, line: Line = {}): Line {
  const isKnown = isRefusalReason(reason);
  const { code, detail, clientId, claimedClientId } = line;
  return {
    ...(code === undefined ? {} : { code }),
    reason,
    meaning: isKnown ? refusalReasons[reason] : "This release does not know the reason.",
    ...(detail === undefined ? {} : { detail }),
    ...(clientId === undefined && claimedClientId === undefined ? {} : { client_id: clientId ?? claimedClientId }),
    ...(isKnown && refusalRemedies[reason] !== undefined ? { mend: refusalRemedies[reason] } : {}),
  };
}

/**
 * The provider's lines in a log: its own lines of JSON, the objects of `wrangler tail --format json`, or exported records that have them in `source` or
 * `message`. Other lines are skipped.
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

/** Without a query for the request, this many pages of the newest events are searched. */
const mostPages = 5;

/** **`edge-op why`**: which rule refused a request. The reason is in the log alone (ADR 57); what the request changed is in the audit log. */
export function whyCommand(document: ApiDocument): Command {
  const { parameters = [] } = document.paths["/audit"]?.["get"] ?? {};
  const hasQuery = parameters.some(({ name }) => name === "request_id");
  return {
    words: ["why"],
    summary: "Says which rule refused a request, with what, and what to change; and what the request changed.",
    arguments: [{ name: "request", description: "The header Request-Id of the response, or a reason of the log." }],
    options: [{ name: "log", kind: "text", description: "A file with lines of the log; - is the standard input." }],
    examples: [
      "edge-op why redirect-uri-not-registered",
      "edge-op why 01JD2K7Q9XW3 --log op-token.log",
      "npx wrangler tail op --format json | edge-op why 01JD2K7Q9XW3 --log -",
    ],
    notes: [
      "A response never contains the reason; the log does. Without --log, the command reads the events of the request in the audit log (scope admin:audit), and on this machine the explanation of `edge-op dev`.",
    ],
    async run(call) {
      const request = call.arguments["request"]!;
      if (isRefusalReason(request)) return print(call, { refusal: explain(request) });
      const log = textOption(call, "log");
      const lines = log === undefined ? [] : readLog(log === "-" ? await call.terminal.readInput() : readText(log));
      const own = lines.filter(({ requestId }) => requestId === request);
      const refused = own.find(({ event }) => event === "refused");
      const others = own.filter(({ event }) => event !== "refused" && event !== "request");
      if (log !== undefined && own.length > 0) {
        const refusal = refused === undefined ? {} : { refusal: explain(String(refused["reason"]), refused) };
        return print(call, { request_id: request, ...refusal, ...(others.length === 0 ? {} : { lines: others }) });
      }
      if (log !== undefined) throw new Failure("notFound", `The log has no line of the request ${request}.`);
      const connection = connect(call);
      const [explanation, events] = await Promise.all([
        askDevelopment(connection, request),
        eventsOf(connection, request, hasQuery),
      ]);
      if (explanation === undefined && events.length === 0) throw notRecorded(request);
      return print(call, {
        request_id: request,
        ...(explanation && { explanation }),
        ...(events.length === 0 ? {} : { events }),
      });
    },
  };
}

function notRecorded(request: string): Failure {
  return new Failure(
    "notFound",
    `The audit log has no event of the request ${request}: it changed nothing. The log has the reason of a refusal:\n  npx wrangler tail op --format json | edge-op why ${request} --log -`,
  );
}

/** `edge-op dev` explains its refusals on loopback. */
async function askDevelopment({ issuer }: Connection, request: string): Promise<string | undefined> {
  const { hostname } = new URL(issuer);
  if (!["localhost", "127.0.0.1"].includes(hostname)) return undefined;
  const url = `${issuer}/dev/explanation?request=${encodeURIComponent(request)}`;
  const response = await fetch(url).catch(() => undefined);
  if (response?.status !== 200) return undefined;
  const html = await response.text();
  const text = html.replaceAll(/<\/(dt|dd|h2)>/g, "\n").replaceAll(/<[^>]*>/g, "");
  const plain = text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<").replaceAll("&gt;", ">");
  return plain.replaceAll("&amp;", "&").replaceAll(/\n\s*/g, "\n").trim();
}

async function eventsOf(connection: Connection, request: string, hasQuery: boolean): Promise<Line[]> {
  const events: Line[] = [];
  let count = 0;
  const query: Readonly<Record<string, string>> = hasQuery ? { request_id: request } : {};
  for await (const { items } of readPages(connection, { path: "/audit", query, member: "events", all: true })) {
    events.push(...items.filter((item) => item["request_id"] === request));
    count += 1;
    if (!hasQuery && count >= mostPages) break;
  }
  return events;
}

interface Told {
  readonly request_id?: string;
  readonly refusal?: Line;
  readonly explanation?: string;
  readonly lines?: readonly Line[];
  readonly events?: readonly Line[];
}

async function print({ terminal, json }: Call, told: Told): Promise<void> {
  if (json) return terminal.write(`${JSON.stringify(told, null, 2)}\n`);
  const { events, lines = [], refusal, explanation } = told;
  if (refusal !== undefined) await terminal.write(showMembers(refusal));
  if (explanation !== undefined)
    await terminal.write(
      `${explanation
        .split("\n")
        .map((line) => showMembers({ "": line }).trim())
        .join("\n")}\n`,
    );
  for (const line of lines) await terminal.write(`\n${showMembers(line)}`);
  if (events !== undefined)
    await terminal.write(
      new Table(["time", "type", "sub", "client_id", "actor", "detail"], terminal.columns).add(events),
    );
}
