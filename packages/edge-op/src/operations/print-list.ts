import type { Connection } from "../connection/connection.ts";
import type { Call } from "../console/command.ts";
import { printable, showMembers, Table } from "../console/show.ts";
import type { ApiResponse } from "../provider-api.ts";

export interface ListRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The member of the response that has the items. */
  readonly member: string;
  readonly columns?: readonly string[] | undefined;
  readonly all: boolean;
  /** The ids alone are printed: the member that has them, else the first one of each item. */
  readonly id?: string | undefined;
}

type Item = Readonly<Record<string, unknown>>;

/** More are not read at a glance. */
const mostColumns = 6;
const largestPage = "200";

export interface Page {
  readonly items: readonly Item[];
  readonly cursor: string | undefined;
  /** The members of the response beside its items. */
  readonly beside: Item;
}

/** The pages of a list, the first alone unless `all`. Memory is that of one page. */
export async function* readPages(
  connection: Connection,
  { path, query, member, all }: ListRequest,
): AsyncGenerator<Page> {
  let cursor = query["cursor"];
  const size = all && query["limit"] === undefined ? { limit: largestPage } : {};
  do {
    const next = cursor === undefined ? {} : { cursor };
    const { body } = await connection.send({ method: "GET", path, query: { ...query, ...size, ...next } });
    const { [member]: items, next_cursor: following, ...beside } = body;
    cursor = typeof following === "string" ? following : undefined;
    yield { items: Array.isArray(items) ? (items as Item[]) : [], cursor, beside };
  } while (all && cursor !== undefined);
}

/** **Prints a list, a page at a time**: a table, or one JSON object in the form of the API. */
export async function printList(call: Call, connection: Connection, request: ListRequest): Promise<void> {
  const pages = readPages(connection, request);
  if (request.id !== undefined) return printIds(call, pages, request.id);
  await (call.json ? printJson(call, pages, request.member) : printTable(call, pages, request));
}

async function printJson({ terminal }: Call, pages: AsyncGenerator<Page>, member: string): Promise<void> {
  let isFirst = true;
  let last: Page | undefined;
  for await (const page of pages) {
    // A list that is refused prints no beginning of one.
    if (last === undefined) await terminal.write(`{${JSON.stringify(member)}:[`);
    for (const item of page.items) {
      await terminal.write(`${isFirst ? "\n" : ",\n"}${JSON.stringify(item)}`);
      isFirst = false;
    }
    last = page;
  }
  const beside = { ...last?.beside, ...(last?.cursor === undefined ? {} : { next_cursor: last.cursor }) };
  const members = Object.entries(beside).map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`);
  await terminal.write(`\n]${members.join("")}}\n`);
}

/** One a line, for a pipe. */
async function printIds({ terminal }: Call, pages: AsyncGenerator<Page>, id: string): Promise<void> {
  let last: Page | undefined;
  for await (const page of pages) {
    const ids = page.items.map((item) => String(item[id] ?? Object.values(item)[0]));
    if (ids.length > 0) await terminal.write(ids.map((each) => `${printable(each)}\n`).join(""));
    last = page;
  }
  noteMore(terminal, last);
}

function noteMore(terminal: Call["terminal"], last: Page | undefined): void {
  if (last?.cursor !== undefined) terminal.note(`\nThere are more: --all, or --cursor ${printable(last.cursor)}\n`);
}

async function printTable({ terminal }: Call, pages: AsyncGenerator<Page>, { columns }: ListRequest): Promise<void> {
  let table: Table | undefined;
  let count = 0;
  let last: Page | undefined;
  for await (const page of pages) {
    count += page.items.length;
    last = page;
    if (page.items.length === 0) continue;
    table ??= new Table(columns ?? shortColumns(page.items), terminal.columns);
    await terminal.write(table.add(page.items));
  }
  // A page that was searched for two conditions may be empty, and not the last one.
  if (count === 0) terminal.note(last?.cursor === undefined ? "There are none.\n" : "There are none so far.\n");
  for (const [name, value] of Object.entries(last?.beside ?? {})) {
    terminal.note(`${name}: ${printable(JSON.stringify(value))}\n`);
  }
  noteMore(terminal, last);
}

/** The members that fit into a table: those with one short value in every row. */
function shortColumns(items: readonly Item[]): readonly string[] {
  const names = [...new Set(items.flatMap((item) => Object.keys(item)))];
  const isShort = (value: unknown) => value === undefined || typeof value !== "object" || Array.isArray(value);
  const fitting = names.filter((name) => items.every((item) => isShort(item[name])));
  return (fitting.length === 0 ? names : fitting).slice(0, mostColumns);
}

/** **Prints the result of one request**: its members, or its JSON. `done` describes a result without content or members. */
export async function printResult(
  { terminal, json }: Pick<Call, "terminal" | "json">,
  { body, headers, text }: ApiResponse,
  done: string,
): Promise<void> {
  if (text === "") {
    if (!json) terminal.note(`${done}\n`);
    return;
  }
  if (json) return terminal.write(`${JSON.stringify(body, null, 2)}\n`);
  const members = showMembers(body);
  if (members.trim() === "") terminal.note(`${done}\n`);
  else await terminal.write(members);
  const etag = headers.get("etag");
  if (etag !== null) terminal.note(`\nVersion: --if-match '${etag}'\n`);
}
