import { closeSync, openSync, writeSync } from "node:fs";
import { connect } from "../connection/connection.ts";
import { type Call, type Command, hasFlag, listOption, type Option, textOption } from "../console/command.ts";
import { Failure, type Outcome, usageFailure } from "../console/failure.ts";
import { printable, showMembers } from "../console/show.ts";
import { readAuth0Users } from "./auth0.ts";
import { readBetterAuthUsers } from "./better-auth.ts";
import { readCognitoUsers } from "./cognito.ts";
import { readFirebaseUsers } from "./firebase.ts";
import { importBatches, type LineReport } from "./import-batches.ts";
import { readKeycloakClients, readKeycloakUsers } from "./keycloak.ts";
import { readJsonLines } from "./source-files.ts";
import { isObject, type ReaderOptions, type SourceClient, type SourceUser, type UserReader } from "./source-user.ts";

const userReaders: Readonly<Record<string, UserReader>> = {
  jsonl: readOwnUsers,
  keycloak: readKeycloakUsers,
  auth0: readAuth0Users,
  firebase: readFirebaseUsers,
  cognito: readCognitoUsers,
  "better-auth": readBetterAuthUsers,
};

async function* readOwnUsers(path: string): AsyncGenerator<SourceUser> {
  for await (const value of readJsonLines(path)) yield { line: isObject(value) ? value : { sub: value }, leftOut: [] };
}

const pathArgument = { name: "path", description: "A file, or a folder of files." };
const reportOption: Option = {
  name: "report",
  kind: "text",
  description: "A new file for the lines that were refused, and for what was left out, as lines of JSON.",
};

/** **`edge-op import`**: users and clients from files of other products. */
export const importCommands: readonly Command[] = [
  {
    words: ["import", "users"],
    summary: "Imports users with their credentials from files. The exit code is 1 if a line was refused.",
    arguments: [pathArgument],
    options: [
      {
        name: "from",
        kind: "text",
        choices: Object.keys(userReaders),
        description: "The product that the files are of; by default jsonl, as edge-op export users writes it.",
      },
      {
        name: "beside",
        kind: "text",
        description: "A second file: Auth0's file of password hashes, or the hash parameters of a Firebase project.",
      },
      {
        name: "upstreams",
        kind: "list",
        description: "An upstream provider of this deployment for a name in the files: google.com=google.",
      },
      { name: "with-roles", kind: "flag", description: "Keycloak: import realm roles and groups too." },
      { name: "dry-run", kind: "flag", description: "Only report what would happen." },
      { name: "skip", kind: "number", description: "Users at the beginning that an earlier run has imported." },
      { name: "parallel", kind: "number", description: "Requests at the same time, 1 to 16; by default 4." },
      reportOption,
    ],
    examples: [
      "edge-op import users users.jsonl",
      "edge-op import users realm-users/ --from keycloak --upstreams google=google --report refused.jsonl --dry-run",
      "edge-op import users users.json --from firebase --beside hash-config.txt --upstreams google.com=google",
    ],
    notes: [
      "Scope: admin:users, and each admin scope that an imported role gives. Requests: POST /admin/import/users.",
      "A user who is there already stays: the same command continues an import that was interrupted.",
    ],
    run: importUsers,
  },
  {
    words: ["import", "clients"],
    summary: "Imports clients with their ids and secrets from files. The exit code is 1 if one was refused.",
    arguments: [pathArgument],
    options: [
      {
        name: "from",
        kind: "text",
        choices: ["jsonl", "keycloak"],
        description: "The product that the files are of; by default jsonl, with a body of clients create in each line.",
      },
      { name: "dry-run", kind: "flag", description: "Only print the clients, without their secrets." },
      reportOption,
    ],
    examples: ["edge-op import clients clients.jsonl", "edge-op import clients realm.json --from keycloak"],
    notes: ["Scope: admin:clients. Requests: POST /admin/clients. A client that is there already stays."],
    run: importClients,
  },
];

function readerOptions(call: Call): ReaderOptions {
  const pairs = listOption(call, "upstreams").map((pair): [string, string] => {
    const at = pair.indexOf("=");
    if (at < 1) throw usageFailure(`--upstreams must be name=upstream_id, not "${pair}".`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return { upstreams: new Map(pairs), withRoles: hasFlag(call, "with-roles"), beside: textOption(call, "beside") };
}

function wholeNumber({ options }: Call, name: string, [least, most]: readonly [number, number], by: number): number {
  const value = options[name] ?? by;
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
  throw usageFailure(`--${name} must be a whole number from ${least} to ${most}.`);
}

async function importUsers(call: Call): Promise<Outcome> {
  const read = userReaders[textOption(call, "from") ?? "jsonl"]!;
  const skip = wholeNumber(call, "skip", [0, Number.MAX_SAFE_INTEGER], 0);
  const options = { isDryRun: hasFlag(call, "dry-run"), skip, parallel: wholeNumber(call, "parallel", [1, 16], 4) };
  const users = read(call.arguments["path"]!, readerOptions(call));
  const report = new Report(call);
  const counts = { created: 0, exists: 0, refused: 0 };
  let done = skip;
  try {
    for await (const lines of importBatches(connect(call), users, options)) {
      for (const line of lines) {
        counts[line.result] += 1;
        report.add(line);
      }
      done = lines.at(-1)!.line;
      if (!call.json) call.terminal.note(`\r${done} users`);
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const message =
      done === skip ? error.message : `${error.message}\n${done} users are done: --skip ${done} continues.`;
    throw new Failure(error.outcome, message, { ...error.detail, ...counts, done }, { cause: error });
  } finally {
    report.close();
  }
  return finish(call, options.isDryRun ? { dry_run: true, ...counts } : counts);
}

async function finish(call: Call, counts: Readonly<Record<string, unknown>>): Promise<Outcome> {
  if (!call.json) call.terminal.note("\n");
  await call.terminal.write(call.json ? `${JSON.stringify(counts)}\n` : showMembers({ ...counts }));
  return counts["refused"] === 0 ? "done" : "refused";
}

/** Refused lines are shown without a file, too: the first ones. */
const mostShown = 20;

class Report {
  readonly #call: Call;
  readonly #file: number | undefined;
  #shown = 0;

  constructor(call: Call) {
    this.#call = call;
    const path = textOption(call, "report");
    if (path === undefined) return;
    try {
      this.#file = openSync(path, "wx", 0o600);
    } catch (error) {
      throw usageFailure(`--report: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  add(line: LineReport): void {
    if (line.result !== "refused" && line.left_out === undefined) return;
    if (this.#file !== undefined) writeSync(this.#file, `${JSON.stringify(line)}\n`);
    else if (line.result === "refused" && !this.#call.json && this.#shown < mostShown) {
      this.#shown += 1;
      const reasons = (line.fields ?? []).map(({ path, message }) => `${path}: ${message}`).join("; ");
      this.#call.terminal.note(`\r${line.line} ${printable(String(line.sub))}: ${printable(reasons)}\n`);
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}

async function* readOwnClients(path: string): AsyncGenerator<SourceClient> {
  for await (const value of readJsonLines(path)) yield { client: isObject(value) ? value : {}, leftOut: [] };
}

async function importClients(call: Call): Promise<Outcome> {
  const path = call.arguments["path"]!;
  const clients = textOption(call, "from") === "keycloak" ? readKeycloakClients(path) : readOwnClients(path);
  const isDryRun = hasFlag(call, "dry-run");
  const connection = connect(call);
  const report = new Report(call);
  const counts = { created: 0, exists: 0, refused: 0 };
  const secrets: Record<string, unknown> = {};
  let number = 0;
  for await (const { client, leftOut } of clients) {
    number += 1;
    const { client_secret: known, ...shown } = client;
    if (isDryRun) {
      await call.terminal.write(`${JSON.stringify(shown)}\n`);
      continue;
    }
    const { result, fields, secret } = await createClient(connection, client);
    counts[result] += 1;
    if (secret !== undefined && known === undefined) secrets[String(client["client_id"])] = secret;
    const left = leftOut.length === 0 ? {} : { left_out: leftOut };
    report.add({ line: number, sub: client["client_id"], result, ...(fields && { fields }), ...left });
  }
  report.close();
  if (isDryRun) return "done";
  if (call.json) return finish(call, Object.assign(counts, { secrets }));
  for (const [id, secret] of Object.entries(secrets)) {
    await call.terminal.write(`client_secret of ${printable(id)}: ${printable(String(secret))}\n`);
  }
  return finish(call, counts);
}

async function createClient(connection: ReturnType<typeof connect>, client: SourceClient["client"]) {
  try {
    const { body } = await connection.send({ method: "POST", path: "/clients", body: client });
    return { result: "created", secret: body["client_secret"] } as const;
  } catch (error) {
    if (!(error instanceof Failure) || (error.outcome !== "refused" && error.outcome !== "conflict")) throw error;
    const fields = (error.detail["fields"] ?? [{ path: "", message: error.message }]) as NonNullable<
      LineReport["fields"]
    >;
    const isThere =
      error.outcome === "conflict" &&
      fields.some(({ path, message }) => path === "client_id" && message === "is taken");
    return isThere ? ({ result: "exists" } as const) : ({ result: "refused", fields } as const);
  }
}
