import { type ApiRequest, type Connection, connect } from "../connection/connection.ts";
import {
  type Argument,
  type Call,
  type Command,
  hasFlag,
  listOption,
  type Option,
  type OptionValues,
  requireConsent,
  textOption,
  yesOption,
} from "../console/command.ts";
import { usageFailure } from "../console/failure.ts";
import { parseDocument, readDocument } from "../console/read-document.ts";
import type { ApiResponse } from "../provider-api.ts";
import { type ApiDocument, type Operation, type Parameter, resolve, type Schema, schemaOf } from "./api-document.ts";
import { printList, printResult } from "./print-list.ts";
import { isByHand, isOfCollection, wordingOf, wordsOf } from "./words.ts";

/** **Members of a JSON body as options**: `redirect_uris` is `--redirect-uris`, and an object is JSON. */
export function bodyOptions(document: ApiDocument, body: Schema): readonly Option[] {
  return Object.entries(membersOf(document, body)).map(([member, schema]) => optionFor(member, schema, document));
}

export function membersOf(document: ApiDocument, body: Schema): Readonly<Record<string, Schema>> {
  return Object.fromEntries(
    Object.entries(body.properties ?? {}).map(([member, schema]) => [member, resolve(document, schema)]),
  );
}

export function optionName(member: string): string {
  return member.replaceAll("_", "-").toLowerCase();
}

const secretMembers = ["token", "password", "client_secret"];

/** The option for a value of a schema. */
export function optionFor(member: string, given: Schema, document: ApiDocument): Option {
  const schema = resolve(document, given);
  const named = {
    name: optionName(member),
    description: firstParagraph(schema.description ?? given.description ?? ""),
  };
  if (schema.enum?.every((value) => typeof value === "string")) {
    return { ...named, kind: "text", choices: schema.enum };
  }
  switch (schema.type) {
    case "string":
      return { ...named, kind: secretMembers.includes(member) ? "secret" : "text" };
    case "integer":
    case "number":
      return { ...named, kind: "number" };
    case "boolean":
      return { ...named, kind: "flag", negatable: true };
    case "array": {
      const items = schema.items === undefined ? {} : resolve(document, schema.items);
      return { ...named, kind: items.type === "string" ? "list" : "json" };
    }
    default:
      return { ...named, kind: "json", ...(allowsText(schema) ? { orText: true as const } : {}) };
  }
}

function allowsText({ anyOf = [] }: Schema): boolean {
  return anyOf.some(({ type, const: value }) => type === "string" || typeof value === "string");
}

function firstParagraph(text: string): string {
  return text.split("\n\n")[0]!.replaceAll("\n", " ");
}

/** The members of a file, overridden by options; `--unset` sets members to `null`, which removes them (RFC 7396). */
export function buildBody(
  members: readonly string[],
  options: OptionValues,
  file: unknown,
  unset: readonly string[],
): Readonly<Record<string, unknown>> {
  if (file !== undefined && (typeof file !== "object" || file === null || Array.isArray(file))) {
    throw usageFailure("--file must contain one object.");
  }
  const given = members.flatMap((member): [string, unknown][] => {
    const value = options[optionName(member)];
    return value === undefined ? [] : [[member, value]];
  });
  const removed = unset.map((name): [string, unknown] => {
    const member = members.find((known) => known === name || optionName(known) === name);
    if (member === undefined) throw usageFailure(`--unset: there is no member "${name}".`);
    return [member, null];
  });
  return { ...file, ...Object.fromEntries([...given, ...removed]) };
}

/** An operation, with everything that its command needs. */
interface Described {
  readonly document: ApiDocument;
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  readonly body: Schema | undefined;
  /** The member of the response that contains a page's items, if it is a list. */
  readonly list: string | undefined;
}

/** **The commands of the admin API**: one for each operation of the document, unless it has one that is written by hand. */
export function operationCommands(document: ApiDocument): Command[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { operationId }]) => !isByHand(operationId))
      .map(([method, operation]) => commandOf(describe(document, method.toUpperCase(), path, operation))),
  );
}

function describe(document: ApiDocument, method: string, path: string, operation: Operation): Described {
  const body = operation.requestBody && schemaOf(document, operation.requestBody);
  const result = schemaOf(document, operation.responses["200"]);
  const { next_cursor: _, ...others } = result === undefined ? {} : membersOf(document, result);
  const lists = Object.entries(others).filter(([, { type }]) => type === "array");
  const isList = method === "GET" && !path.endsWith("}") && lists.length === 1;
  return { document, method, path, operation, body, list: isList ? lists[0]![0] : undefined };
}

function commandOf(described: Described): Command {
  const { path, operation, method } = described;
  const words = wordsOf(method, path, operation);
  const scopes = operation.security.flatMap((each) => Object.values(each).flat());
  const named = pathParameters(path, operation);
  return {
    words,
    summary: operation.summary,
    arguments: named,
    options: optionsOf(described),
    examples: examplesOf(described, words, named),
    notes: [
      ...(operation.description === undefined ? [] : [operation.description]),
      `Scope: ${scopes.join(" ")}. Request: ${method} /admin${path}.`,
      ...(method === "DELETE" ? ["It asks first. Where nobody can answer, it needs --yes."] : []),
    ],
    run: (call) => run(described, call),
  };
}

function pathParameters(path: string, { parameters = [] }: Operation): Argument[] {
  return parameters
    .filter((parameter) => parameter.in === "path")
    .map(({ name, description }) => ({
      name,
      description: description ?? `The ${name} of the ${nounBefore(path, name)}.`,
    }));
}

/** `/users/{sub}`: `user`. */
function nounBefore(path: string, name: string): string {
  const [, nouns = "resource"] = new RegExp(`([a-z-]+)/\\{${name}\\}`).exec(path) ?? [];
  return nouns.replace(/ies$/, "y").replace(/s$/, "").replaceAll("-", " ");
}

function queryParameters({ parameters = [] }: Operation): readonly Parameter[] {
  return parameters.filter((parameter) => parameter.in === "query");
}

const fileOption: Option = {
  name: "file",
  kind: "text",
  description: "Members of the body from a file of JSON or YAML; - is the standard input. Options override them.",
};
const unsetOption: Option = { name: "unset", kind: "list", description: "Remove a member, or give it its default." };
const ifMatchOption: Option = {
  name: "if-match",
  kind: "text",
  description: "Fail if the resource has another version than this ETag.",
};
const quietOption: Option = {
  name: "quiet",
  short: "q",
  kind: "flag",
  description: "Print the ids alone, one a line.",
};
const allOption: Option = { name: "all", kind: "flag", description: "All pages, not only the first." };

function optionsOf({ document, operation, method, body, list }: Described): Option[] {
  const query = queryParameters(operation);
  const isPaged = query.some(({ name }) => name === "cursor");
  return [
    ...query.map(({ name, schema, description }) =>
      optionFor(name, { ...schema, ...(description && { description }) }, document),
    ),
    ...(body === undefined ? [] : [...bodyOptions(document, body), fileOption]),
    ...(method === "PATCH" ? [unsetOption] : []),
    ...(hasIfMatch(operation) ? [ifMatchOption] : []),
    ...(list !== undefined && isPaged ? [allOption] : []),
    ...(list !== undefined ? [quietOption] : []),
    ...(method === "DELETE" ? [yesOption] : []),
  ];
}

/** The parameter of a record's path below that of the list. */
function idOf({ document, path }: Described): string | undefined {
  const [record] = Object.keys(document.paths).filter(
    (each) => each.startsWith(`${path}/{`) && !each.slice(path.length + 1).includes("/"),
  );
  return record?.slice(path.length + 2, -1);
}

function hasIfMatch({ parameters = [] }: Operation): boolean {
  return parameters.some(({ name, in: place }) => place === "header" && name === "If-Match");
}

function examplesOf(described: Described, words: readonly string[], named: readonly Argument[]): string[] {
  const command = ["edge-op", ...words].join(" ");
  const { examples } = wordingOf(described.operation);
  if (examples !== undefined) return examples.map((rest) => `${command} ${rest}`);
  const places = named.map(({ name }) => name.toUpperCase());
  const rest = described.body === undefined ? [] : ["--file", "body.yaml"];
  return [[command, ...places, ...rest].join(" ")];
}

async function run(described: Described, call: Call): Promise<void> {
  const { method, operation, body, document } = described;
  const members = body === undefined ? [] : Object.keys(membersOf(document, body));
  const content =
    body === undefined ? undefined : buildBody(members, call.options, await readFile(call), listOption(call, "unset"));
  const path = described.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(call.arguments[name] ?? ""),
  );
  const query = Object.fromEntries(
    queryParameters(operation).flatMap(({ name }): [string, string][] => {
      const value = call.options[optionName(name)];
      return value === undefined ? [] : [[name, String(value)]];
    }),
  );
  if (method === "PATCH" && Object.keys(content ?? {}).length === 0)
    throw usageFailure("Nothing to change: give a member as an option, or in --file, or remove one by --unset.");
  const connection = connect(call);
  if (method === "DELETE")
    await requireConsent(call, `${operation.summary}\n${path} at ${connection.issuer}\nContinue?`);
  if (described.list !== undefined) {
    const { columns } = wordingOf(operation);
    const id = hasFlag(call, "quiet") ? (idOf(described) ?? "") : undefined;
    if (id !== undefined && call.json) throw usageFailure("--quiet prints ids, --json prints everything: one of them.");
    const list = { path, query, member: described.list, columns, all: hasFlag(call, "all"), id };
    await printList(call, connection, list);
    return;
  }
  const request = { method, path, query, body: content, ifMatch: textOption(call, "if-match") };
  const response = isOfCollection(method, described.path)
    ? await endAll(call, connection, request)
    : await connection.send(request);
  await printResult(call, response, operation.responses[String(response.status)]?.description ?? "Done.");
}

/** Repeats a deletion until nothing is left: one request ends a bounded number. */
async function endAll({ terminal, json }: Call, connection: Connection, request: ApiRequest): Promise<ApiResponse> {
  for (let ended = 0; ; ) {
    const response = await connection.send(request);
    ended += Number(response.body["ended"] ?? 0);
    if (response.body["more"] !== true) return { ...response, body: { ...response.body, ended } };
    if (!json) terminal.note(`${ended} so far\n`);
  }
}

async function readFile(call: Call): Promise<unknown> {
  const path = textOption(call, "file");
  if (path === undefined) return undefined;
  return path === "-" ? parseDocument(await call.terminal.readInput(), "The standard input") : readDocument(path);
}
