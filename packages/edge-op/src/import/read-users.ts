import { auth0Reader } from "./auth0.ts";
import { betterAuthReader } from "./better-auth.ts";
import { clerkReader } from "./clerk.ts";
import { cognitoReader } from "./cognito.ts";
import { entraReader } from "./entra.ts";
import { firebaseReader } from "./firebase.ts";
import { keycloakReader } from "./keycloak.ts";
import { kratosReader } from "./kratos.ts";
import { oktaReader } from "./okta.ts";
import { readRecords } from "./read-records.ts";
import {
  type Fault,
  isObject,
  type Json,
  type ReaderOptions,
  type ReadUser,
  textOf,
  type UserReader,
} from "./source-user.ts";
import { supabaseReader } from "./supabase.ts";
import { zitadelReader } from "./zitadel.ts";

/** Our own lines: the provider decides about all of their members. */
const ownReader: UserReader = { lists: ["users"], open: () => (user) => ({ kind: "user", user, leftOut: [] }) };

export const userReaders: Readonly<Record<string, UserReader>> = {
  jsonl: ownReader,
  keycloak: keycloakReader,
  auth0: auth0Reader,
  firebase: firebaseReader,
  cognito: cognitoReader,
  "better-auth": betterAuthReader,
  clerk: clerkReader,
  supabase: supabaseReader,
  okta: oktaReader,
  entra: entraReader,
  kratos: kratosReader,
  zitadel: zitadelReader,
};

/** **A record of the files, and what becomes of it.** */
export type SourceUser = ReadUser & Omit<Fault, "fault"> & { readonly name?: string };

/** **What becomes of each record of the files**, in their order: each is there once, whatever is in it. */
export async function* readUsers(
  reader: UserReader,
  path: string,
  options: ReaderOptions,
  onRead?: (bytes: number) => void,
): AsyncGenerator<SourceUser> {
  const faults: Fault[] = [];
  const tables = await readTables(reader, path);
  const toUser = await reader.open(options, {
    rowsOf: (table) => tables.get(table) ?? [],
    report: (fault) => faults.push(fault),
    path,
  });
  for (const { file, line, fault } of faults) yield { file, line, kind: "refused", reason: fault ?? "" };
  for await (const record of readRecords(path, reader, onRead)) {
    const { file, line, list, value, fault, name } = record;
    const place = { file, line };
    if (fault !== undefined)
      yield { ...place, ...(name === undefined ? {} : { name }), kind: "refused", reason: fault };
    else if (!isObject(value)) yield { ...place, kind: "refused", reason: `must be an object, not ${kindOf(value)}` };
    else if (!isTableRow(reader, list) && reader.isContainer?.(value) !== true) {
      const read = decide(toUser, value);
      yield { ...place, ...nameOf(read, value), ...read };
    }
  }
}

function isTableRow({ tables = [] }: UserReader, list: string | undefined): boolean {
  return list !== undefined && tables.includes(list);
}

async function readTables(reader: UserReader, path: string): Promise<ReadonlyMap<string, readonly Json[]>> {
  const tables = new Map<string, Json[]>((reader.tables ?? []).map((table) => [table, []]));
  if (tables.size === 0) return tables;
  for await (const { list, value } of readRecords(path, reader)) {
    if (list !== undefined && isObject(value)) tables.get(list)?.push(value);
  }
  return tables;
}

/** A reader expects anything; a record that it does not is refused like others. */
function decide(toUser: (record: Json) => ReadUser, value: Json): ReadUser {
  try {
    return toUser(value);
  } catch (error) {
    return { kind: "refused", reason: `cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function nameOf(read: ReadUser, value: Json): { readonly name?: string } {
  const user = read.kind === "user" ? read.user : {};
  const members = ["username", "userName", "email", "sub", "id"];
  const name =
    textOf(user["username"]) ?? members.map((member) => textOf(value[member])).find((text) => text !== undefined);
  return name === undefined ? {} : { name: name.slice(0, 255) };
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}
