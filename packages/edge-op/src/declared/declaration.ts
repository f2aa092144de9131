import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { usageFailure } from "../console/failure.ts";
import { readDocument } from "../console/read-document.ts";

/** A kind of record that can be declared, and its operations. */
export interface DeclaredKind {
  readonly name:
    | "roles"
    | "groups"
    | "attributes"
    | "resources"
    | "clients"
    | "issuers"
    | "upstreams"
    | "organization-roles"
    | "organizations"
    | "branding";
  /** The member of the API that has the record's name. */
  readonly key: string;
  /** Roles and groups are lists: the member that has the values. They are replaced as a whole. */
  readonly values?: string;
  /** Its records always exist, and are replaced as a whole: these members are no part of them. */
  readonly shown?: readonly string[];
  /** Members that cannot change. */
  readonly fixed: readonly string[];
  /** Members that the API never shows. Declared as `<member>_env`: the name of the environment variable that has the value. */
  readonly secrets?: readonly string[];
}

/** In the order in which they are created: groups name roles, clients name resources, issuers name clients, attributes name resources and clients. */
export const declaredKinds: readonly DeclaredKind[] = [
  { name: "roles", key: "name", values: "permissions", fixed: [] },
  { name: "groups", key: "name", values: "roles", fixed: [] },
  { name: "resources", key: "resource_id", fixed: ["identifier"] },
  { name: "clients", key: "client_id", fixed: [] },
  { name: "issuers", key: "issuer_id", fixed: ["issuer"] },
  { name: "upstreams", key: "upstream_id", fixed: ["kind"], secrets: ["client_secret", "private_key"] },
  { name: "attributes", key: "attribute", fixed: ["type"] },
  { name: "organization-roles", key: "role", values: "permissions", fixed: [] },
  { name: "organizations", key: "org_id", fixed: [] },
  { name: "branding", key: "id", shown: ["id", "updated_at", "preview"], fixed: [] },
];

export type Wanted = Readonly<Record<string, unknown>> | readonly unknown[] | null;

/**
 * **What a deployment is to contain**, by kind and name. Only what is named is compared: a member that is absent stays as it is, `null` removes a
 * member or a whole record, and records that are not named stay. So no file can delete what it does not know.
 */
export interface Declaration {
  readonly records: ReadonlyMap<DeclaredKind, ReadonlyMap<string, Wanted>>;
  /** By the name of the variable. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Reads a file, or every file of a folder. A name may be declared once. */
export function readDeclaration(path: string): Declaration {
  const documents = filesIn(path).map((file) => ({ file, document: readDocument(file) }));
  const records = new Map(declaredKinds.map((kind) => [kind, new Map<string, Wanted>()] as const));
  const settings: Record<string, string> = {};
  for (const { file, document } of documents) {
    if (!isJsonObject(document)) throw usageFailure(`${file}: an object is required.`);
    for (const [member, content] of Object.entries(document)) {
      if (!isJsonObject(content)) throw usageFailure(`${file}: ${member}: an object is required.`);
      if (member === "settings") {
        Object.assign(
          settings,
          Object.fromEntries(Object.entries(content).map(([name, value]) => [name, String(value)])),
        );
        continue;
      }
      const kind = declaredKinds.find(({ name }) => name === member);
      if (kind === undefined) throw usageFailure(`${file}: there is no member "${member}". ${advice(member)}`);
      addRecords(kind, content, file, records.get(kind)!);
    }
  }
  return { records, settings };
}

function advice(member: string): string {
  if (member === "users") return "People are not declared in files: edge-op users.";
  return `Known: ${[...declaredKinds.map(({ name }) => name), "settings"].join(", ")}.`;
}

function addRecords(kind: DeclaredKind, content: object, file: string, into: Map<string, Wanted>): void {
  for (const [name, wanted] of Object.entries(content) as [string, unknown][]) {
    const place = `${file}: ${kind.name}.${name}`;
    const isForm = kind.values === undefined ? isJsonObject(wanted) : Array.isArray(wanted);
    if (wanted !== null && !isForm)
      throw usageFailure(`${place}: ${kind.values ? "a list" : "an object"} or null is required.`);
    if (into.has(name)) throw usageFailure(`${place} is declared twice.`);
    if (isJsonObject(wanted) && kind.key in wanted) throw usageFailure(`${place}: ${kind.key} is the name itself.`);
    const secret = ["client_secret", "private_key"].find((member) => isJsonObject(wanted) && member in wanted);
    if (secret !== undefined) {
      const way =
        kind.secrets === undefined ? "the provider makes them" : `${secret}_env names an environment variable`;
      throw usageFailure(`${place}: secrets are not declared: ${way}.`);
    }
    into.set(name, wanted as Wanted);
  }
}

function filesIn(path: string): string[] {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path];
  const names = readdirSync(path).filter((name) => /\.(json|ya?ml)$/.test(name));
  if (names.length === 0) throw usageFailure(`${path} has no file of JSON or YAML.`);
  return names.toSorted().map((name) => join(path, name));
}
