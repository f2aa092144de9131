import { closeSync, existsSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";
import { connect } from "../connection/connection.ts";
import { type Call, type Command, type Option, textOption } from "../console/command.ts";
import { usageFailure } from "../console/failure.ts";
import { Progress } from "../console/progress.ts";
import { printable } from "../console/show.ts";
import { readPages } from "../operations/print-list.ts";

type Item = Readonly<Record<string, unknown>>;

const outOption: Option = { name: "out", kind: "text", description: "A new file, which only you can read." };

/** **`edge-op export`**: users and clients in the form of `edge-op import`. */
export const exportCommands: readonly Command[] = [
  {
    words: ["export", "users"],
    summary: "Writes all users with their credentials as lines of JSON, which edge-op import users reads.",
    options: [outOption],
    examples: ["edge-op export users --out users.jsonl"],
    notes: [
      "Scope: admin:export. The file contains password hashes and secrets of authenticator apps. Each page is in the audit log. A file appears when it is complete.",
    ],
    run: (call) => writeLines(call, { path: "/export/users", member: "users", lineOf: (user) => user }),
  },
  {
    words: ["export", "clients"],
    summary: "Writes all clients as lines of JSON, which edge-op import clients reads.",
    options: [outOption],
    examples: ["edge-op export clients --out clients.jsonl"],
    notes: [
      "Scope: admin:clients. Secrets are stored as MACs and are not in the file: an imported client gets a new one. Clients that registered themselves are left out.",
    ],
    run: (call) => writeLines(call, { path: "/clients", member: "clients", lineOf: clientLine }),
  },
];

/** The members that the creation of a client accepts. */
function clientLine({ client_id_issued_at: _, updated_at: __, origin, ...client }: Item): Item | undefined {
  return origin === undefined ? client : undefined;
}

interface Lines {
  readonly path: string;
  readonly member: string;
  readonly lineOf: (item: Item) => Item | undefined;
}

async function writeLines(call: Call, { path, member, lineOf }: Lines): Promise<void> {
  const out = textOption(call, "out");
  if (out === undefined) throw usageFailure("--out must name a new file.");
  if (existsSync(out)) throw usageFailure(`--out must name a new file: ${out} is there.`);
  const partial = `${out}.part`;
  if (existsSync(partial)) throw usageFailure(`${partial} is there, of an export that was interrupted: delete it.`);
  const file = openNew(partial);
  const progress = new Progress(call.terminal, member);
  let count = 0;
  try {
    for await (const { items, beside } of readPages(connect(call), { path, query: {}, member, all: true })) {
      const lines = items.flatMap((item) => lineOf(item) ?? []);
      writeSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      count += lines.length;
      if (!call.json) progress.show(count);
      for (const sub of Array.isArray(beside["unreadable"]) ? beside["unreadable"] : []) {
        progress.note(`${printable(String(sub))}: the secret of an app does not open, and is not exported.`);
      }
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(partial, out);
  progress.end();
  await call.terminal.write(
    call.json ? `${JSON.stringify({ [member]: count, file: out })}\n` : `${out}: ${count} ${member}\n`,
  );
}

function openNew(path: string): number {
  try {
    return openSync(path, "wx", 0o600);
  } catch (error) {
    throw usageFailure(`--out: ${error instanceof Error ? error.message : String(error)}`);
  }
}
