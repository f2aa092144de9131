import { connect } from "../connection/connection.ts";
import type { Call, Command } from "../console/command.ts";
import { usageFailure } from "../console/failure.ts";
import { findSimilar } from "../console/similar.ts";
import { exportCommands } from "../import/export-command.ts";
import { importCommands } from "../import/import-command.ts";
import { updateCommand } from "../import/update-users.ts";
import type { ApiDocument } from "../operations/api-document.ts";
import { operationCommands } from "../operations/operation-commands.ts";
import { auditCommands } from "./audit-commands.ts";
import { completionCommands } from "./completion-command.ts";
import { contextCommands } from "./context-commands.ts";
import { declaredCommands } from "./declared-commands.ts";
import { doctorCommand } from "./doctor-command.ts";
import { loginCommand } from "./login-command.ts";
import { tokenCommands } from "./token-commands.ts";
import { whyCommand } from "./why-command.ts";

/** Pages that list records, each of which has a page of its own. */
const lists = [
  ...["clients", "document-hosts", "users", "invitations", "roles", "groups", "attributes"],
  ...["resources", "issuers", "upstreams"],
];
/** Of these lists, those that share the page of another one. */
const listPages: Readonly<Record<string, string>> = {
  ...{ "document-hosts": "clients", invitations: "users", groups: "roles", attributes: "roles", upstreams: "issuers" },
};
const others = ["start", "keys", "shards", "held-records", "audit", "refusals", "settings", "branding"];

/** Every page, and whether it has records. */
export const consolePages: readonly (readonly [page: string, hasRecords: boolean])[] = [
  ...lists.map((page) => [page, true] as const),
  ...others.map((page) => [page, false] as const),
];

function consolePath(page: string | undefined, id: string | undefined): string {
  if (page === undefined) return "/console";
  if (!lists.includes(page) && !others.includes(page)) {
    const near = findSimilar(page, [...lists, ...others]);
    const hint = near.length === 0 ? `: ${[...lists, ...others].join(", ")}` : `. Did you mean ${near.join(" or ")}?`;
    throw usageFailure(`The console has no page "${page}"${hint}`);
  }
  if (id === undefined) return `/console/${listPages[page] ?? page}`;
  if (!lists.includes(page)) throw usageFailure(`The page "${page}" has no records: "${id}" is one word too many.`);
  return `/console/${page}/${encodeURIComponent(id)}`;
}

/** **`edge-op open`**: from the command line to the page of a record in the console. Nothing is requested; the browser signs in itself. */
export const openCommand: Command = {
  words: ["open"],
  summary: "Prints the address of a page of the console, and opens it in the browser of a person at a terminal.",
  arguments: [
    { name: "page", description: `The list or page: ${[...lists, ...others].join(", ")}.`, optional: true },
    { name: "id", description: "The record: its sub, client_id, name or other id.", optional: true },
  ],
  examples: ["edge-op open", "edge-op open users alice", "edge-op open audit"],
  notes: ["A person signs in there with two factors; the credential of this context is not used."],
  async run(call: Call) {
    const url = `${connect(call).issuer}${consolePath(call.arguments["page"], call.arguments["id"])}`;
    await call.terminal.write(call.json ? `${JSON.stringify({ url })}\n` : `${url}\n`);
    if (call.terminal.isInteractive && !call.json) call.terminal.openBrowser(url);
  },
};

/** **Every command for a deployment**, sorted. `document` is that of the admin API. */
export function allCommands(document: ApiDocument): readonly Command[] {
  const scopes = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ security }) => security.flatMap((each) => Object.values(each).flat())),
  );
  const commands = [
    loginCommand([...new Set(scopes)].toSorted()),
    ...contextCommands,
    openCommand,
    ...operationCommands(document),
    ...tokenCommands,
    ...auditCommands,
    whyCommand,
    doctorCommand,
    ...declaredCommands(document),
    ...importCommands,
    ...exportCommands,
    updateCommand,
  ];
  return completionCommands(commands).toSorted((left, right) => compare(left.words.join(" "), right.words.join(" ")));
}

function compare(left: string, right: string): number {
  return left < right ? -1 : 1;
}
