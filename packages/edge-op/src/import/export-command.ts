import { connect } from "../connection/connection.ts";
import { type Call, type Command, type Option, textOption } from "../console/command.ts";
import { usageFailure } from "../console/failure.ts";
import { Progress } from "../console/progress.ts";
import { printable } from "../console/show.ts";
import { readPages } from "../operations/print-list.ts";
import { PartialFile } from "./partial-file.ts";

type Item = Readonly<Record<string, unknown>>;

const outOption: Option = { name: "out", kind: "text", description: "A new file, which only you can read." };
const continues = "A file appears when it is complete; the same command continues an export that was interrupted.";

/** **`edge-op export`**: users and clients in the form of `edge-op import`. */
export const exportCommands: readonly Command[] = [
  {
    words: ["export", "users"],
    summary: "Writes all users with their credentials as lines of JSON, which edge-op import users reads.",
    options: [outOption],
    examples: ["edge-op export users --out users.jsonl"],
    notes: [
      "Scope: admin:export. The file contains password hashes and secrets of authenticator apps. Each page is in the audit log.",
      continues,
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
      continues,
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
  const connection = connect(call);
  const file = new PartialFile(out, `${member} of ${connection.issuer}`);
  const progress = new Progress(call.terminal, member);
  if (file.cursor !== undefined) progress.note(`Continues after the ${file.count} ${member} of ${out}.part.`);
  const query = file.cursor === undefined ? {} : { cursor: file.cursor };
  try {
    for await (const { items, cursor, beside } of readPages(connection, { path, query, member, all: true })) {
      const lines = items.flatMap((item) => lineOf(item) ?? []);
      file.add(
        lines.map((line) => JSON.stringify(line)),
        cursor,
      );
      if (!call.json) progress.show(file.count);
      for (const sub of Array.isArray(beside["unreadable"]) ? beside["unreadable"] : []) {
        progress.note(`${printable(String(sub))}: the secret of an app does not open, and is not exported.`);
      }
    }
    file.finish();
  } finally {
    progress.end();
    file.close();
  }
  const { count } = file;
  await call.terminal.write(
    call.json ? `${JSON.stringify({ [member]: count, file: out })}\n` : `${out}: ${count} ${member}\n`,
  );
}
