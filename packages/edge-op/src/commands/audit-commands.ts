import { once } from "node:events";
import { createWriteStream, existsSync, renameSync } from "node:fs";
import { finished } from "node:stream/promises";
import { setTimeout } from "node:timers/promises";
import * as z from "zod";
import { type Connection, connect } from "../connection/connection.ts";
import { type Call, type Command, type Option, textOption } from "../console/command.ts";
import { Failure, type Outcome, usageFailure } from "../console/failure.ts";
import { Progress } from "../console/progress.ts";
import { requireForm } from "../console/read-document.ts";
import { showMembers, Table } from "../console/show.ts";
import { readPages } from "../operations/print-list.ts";

/** Events reach the log within ten seconds, so a shorter pause shows nothing sooner. */
const pauseMs = 2_000;
/** Events may arrive later than younger ones, so each question reaches back by this many seconds. */
const overlapSeconds = 90;

const filters = ["sub", "client-id", "actor", "type"] as const;
const filterOptions: readonly Option[] = [
  { name: "sub", kind: "text", description: "Events about this person." },
  { name: "client-id", kind: "text", description: "Events about this client." },
  { name: "actor", kind: "text", description: "Events that this subject caused." },
  { name: "type", kind: "text", description: "A type, or a prefix followed by *: 'sign-in.*'." },
];
const fromOption: Option = {
  name: "from",
  kind: "text",
  description: "At this time or later: RFC 3339, or seconds since the epoch.",
};
const toOption: Option = { name: "to", kind: "text", description: "Before this time." };

const columns = ["time", "type", "sub", "client_id", "actor", "address", "detail"];

function queryOf(call: Call, names: readonly string[]): Record<string, string> {
  const given = names.flatMap((name): [string, string][] => {
    const value = textOption(call, name);
    return value === undefined ? [] : [[name.replace("-", "_"), value]];
  });
  return Object.fromEntries(given);
}

/** **`edge-op audit`**, beside `audit search` and `audit gaps`, which are operations of the admin API. */
export const auditCommands: readonly Command[] = [
  {
    words: ["audit", "tail"],
    summary: "Prints events as they arrive in the audit log, until it is interrupted.",
    options: [
      ...filterOptions,
      fromOption,
      { name: "for", kind: "number", description: "End after this many seconds." },
    ],
    examples: ["edge-op audit tail --type 'sign-in.*'", "edge-op audit tail --json --from 2026-11-01T00:00:00Z"],
    notes: ["Scope: admin:audit. An event is there within ten seconds."],
    run: tail,
  },
  {
    words: ["audit", "verify"],
    summary: "Verifies the chain of the audit log to its end. The exit code is 1 if it is broken.",
    options: [
      { name: "from", kind: "number", description: "The first position; by default the first stored one." },
      { name: "to", kind: "number", description: "The last position." },
      {
        name: "expect",
        kind: "text",
        description: "The chain value that the last position must have, kept from an earlier verification.",
      },
    ],
    examples: ["edge-op audit verify", "edge-op audit verify --to 182034 --expect 5f2c…"],
    notes: [
      "Scope: admin:audit. Keep position and chain elsewhere, and compare them later: they identify the whole history.",
    ],
    run: verify,
  },
  {
    words: ["audit", "export"],
    summary: "Writes events as lines of JSON, the newest first.",
    options: [
      ...filterOptions,
      fromOption,
      toOption,
      {
        name: "out",
        kind: "text",
        description: "A new file, which only you can read; by default the standard output.",
      },
    ],
    examples: ["edge-op audit export --from 2026-11-01T00:00:00Z --to 2026-12-01T00:00:00Z --out november.ndjson"],
    notes: ["Scope: admin:audit. A file appears when it is complete."],
    run: exportEvents,
  },
];

async function tail(call: Call): Promise<void> {
  const connection = connect(call);
  const seconds = call.options["for"];
  const endMs = typeof seconds === "number" ? Date.now() + seconds * 1000 : Number.POSITIVE_INFINITY;
  const filter = queryOf(call, filters);
  let from = textOption(call, "from") ?? String(Math.floor(Date.now() / 1000) - 10);
  const table = new Table(columns, call.terminal.columns);
  let shown = new Set<unknown>();
  for (;;) {
    const events = await readAll(connection, { ...filter, from });
    const fresh = events.filter(({ position }) => !shown.has(position));
    // Only the positions that the next question can return are kept.
    shown = new Set(events.map(({ position }) => position));
    const rows = fresh.toReversed();
    if (rows.length > 0) {
      await call.terminal.write(call.json ? rows.map((row) => `${JSON.stringify(row)}\n`).join("") : table.add(rows));
    }
    const newest = events.at(0)?.["time"];
    if (typeof newest === "string") from = String(Math.max(startOf(from), Date.parse(newest) / 1000 - overlapSeconds));
    if (Date.now() + pauseMs > endMs) return;
    await setTimeout(pauseMs);
  }
}

function startOf(from: string): number {
  return /^\d+(\.\d+)?$/.test(from) ? Number(from) : Date.parse(from) / 1000;
}

async function readAll(connection: Connection, query: Readonly<Record<string, string>>) {
  const events: Readonly<Record<string, unknown>>[] = [];
  const from = query["from"] === undefined ? {} : { from: query["from"].replace(/\.\d+$/, "") };
  for await (const { items } of readPages(connection, {
    path: "/audit",
    query: { ...query, ...from },
    member: "events",
    all: true,
  })) {
    events.push(...items);
  }
  return events;
}

const verificationSchema = z.looseObject({
  valid: z.boolean(),
  to: z.number(),
  chain: z.string(),
  gaps: z.array(z.unknown()),
  next_from: z.number().optional(),
});

async function verify(call: Call): Promise<Outcome> {
  const connection = connect(call);
  const { from, to, expect: expected } = call.options;
  if (expected !== undefined && to === undefined) throw usageFailure("--expect needs --to, the position of the value.");
  let next = typeof from === "number" ? from : undefined;
  const last = typeof to === "number" ? { to: String(to) } : {};
  const gaps: unknown[] = [];
  const progress = new Progress(call.terminal, "is the last verified position");
  let result: z.output<typeof verificationSchema>;
  do {
    const first = next === undefined ? {} : { from: String(next) };
    const { body } = await connection.send({
      method: "GET",
      path: "/audit/verification",
      query: { ...first, ...last },
    });
    result = requireForm("The verification", verificationSchema, body);
    gaps.push(...result.gaps);
    if (!call.json) progress.show(result.to);
    next = result.next_from;
  } while (result.valid && next !== undefined);
  if (!call.json) progress.note(`Verified to position ${result.to}.`);
  const isExpected = expected === undefined || expected === result.chain;
  const { next_from: _, ...shown } = { ...result, gaps, ...(isExpected ? {} : { expected }) };
  await call.terminal.write(call.json ? `${JSON.stringify(shown, null, 2)}\n` : showMembers(shown));
  return result.valid && isExpected ? "done" : "refused";
}

async function exportEvents(call: Call): Promise<void> {
  const connection = connect(call);
  const path = textOption(call, "out");
  if (path !== undefined && existsSync(path)) throw usageFailure(`${path} exists: --out names a new file.`);
  const progress = call.json || path === undefined ? undefined : new Progress(call.terminal, "events");
  const query = queryOf(call, [...filters, "from", "to"]);
  const partial = path === undefined ? undefined : `${path}.part`;
  const file = partial === undefined ? undefined : createWriteStream(partial, { mode: 0o600 });
  let count = 0;
  try {
    for await (const { items } of readPages(connection, { path: "/audit", query, member: "events", all: true })) {
      const lines = items.map((item) => `${JSON.stringify(item)}\n`).join("");
      if (file === undefined) await call.terminal.write(lines);
      else if (!file.write(lines)) await once(file, "drain");
      count += items.length;
      progress?.show(count);
    }
  } finally {
    file?.end();
    if (file !== undefined)
      await finished(file).catch((error: Error) => Promise.reject(new Failure("usage", error.message)));
  }
  if (path === undefined || partial === undefined) return;
  renameSync(partial, path);
  progress?.note(`${count} events in ${path}`);
}
