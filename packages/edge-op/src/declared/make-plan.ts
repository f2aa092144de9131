import { applyMergePatch } from "@edge-op/protocol/encoding/merge-patch";
import type { ApiRequest, Connection } from "../connection/connection.ts";
import { usageFailure } from "../console/failure.ts";
import { printable } from "../console/show.ts";
import { type ApiDocument, type Schema, schemaOf } from "../operations/api-document.ts";
import { type Declaration, type DeclaredKind, declaredKinds, type Wanted } from "./declaration.ts";
import { type Difference, findDifferences } from "./find-differences.ts";
import { findProblems } from "./find-problems.ts";

export interface Change {
  readonly kind: DeclaredKind;
  readonly name: string;
  readonly action: "create" | "update" | "delete";
  readonly differences: readonly Difference[];
  /** Changes only the version that was compared. */
  readonly request: ApiRequest;
  /** The environment variables of the secrets that the request needs, by member. */
  readonly secrets?: Readonly<Record<string, string>>;
}

/** Records that are read at the same time. */
const mostReads = 8;

/**
 * **The changes that make a deployment what is declared**, in the order in which they must be made. Reads each declared record once. Refuses the
 * whole plan, with every problem, if a record has another form than the admin API accepts.
 */
export async function makePlan(
  connection: Connection,
  document: ApiDocument,
  declaration: Declaration,
): Promise<Change[]> {
  const declared = declaredKinds.flatMap((kind) =>
    [...(declaration.records.get(kind) ?? [])].map(([name, wanted]) => ({ kind, name, wanted })),
  );
  const changes: Change[] = [];
  for (let start = 0; start < declared.length; start += mostReads) {
    const some = declared.slice(start, start + mostReads);
    const found = await Promise.all(
      some.map(({ kind, name, wanted }) => compare(connection, document, kind, name, wanted)),
    );
    changes.push(...found.flat());
  }
  const problems = changes.flatMap(({ kind, name, action, request, secrets = {} }) => {
    if (action === "delete") return [];
    // What the variables contain is read before the first change.
    const given = Object.fromEntries(Object.keys(secrets).map((member) => [member, "as it is in the variable"]));
    const found = findProblems(document, bodyOf(document, kind, request.method), {
      ...(request.body as object),
      ...given,
    });
    return found.map((problem) => printable(`${kind.name}.${name}: ${problem}`));
  });
  if (problems.length > 0) throw usageFailure(`${problems.join("\n")}\nNothing was changed.`);
  const deletions = changes.filter(({ action }) => action === "delete").toReversed();
  return [...changes.filter(({ action }) => action !== "delete"), ...deletions];
}

async function compare(
  connection: Connection,
  document: ApiDocument,
  kind: DeclaredKind,
  name: string,
  wanted: Wanted,
): Promise<Change[]> {
  const path = `/${kind.name}/${encodeURIComponent(name)}`;
  const found = await connection.find(path);
  const etag = found?.headers.get("etag") ?? undefined;
  if (wanted === null) {
    if (found === undefined || (kind.shown !== undefined && !("updated_at" in found.body))) return [];
    return [{ kind, name, action: "delete", differences: [], request: { method: "DELETE", path } }];
  }
  const change = { kind, name, action: found === undefined ? "create" : "update" } as const;
  if (kind.values !== undefined) {
    const values = [...(wanted as readonly string[])].toSorted();
    const actual = found?.body[kind.values];
    const differences = findDifferences(document, {}, actual, values, kind.values);
    if (differences.length === 0) return [];
    const version = found === undefined ? { ifNoneMatch: "*" } : { ifMatch: etag };
    return [{ ...change, differences, request: { method: "PUT", path, body: { [kind.values]: values }, ...version } }];
  }
  const { record, secrets } = withoutSecrets(kind, wanted as Readonly<Record<string, unknown>>);
  const differences = findDifferences(document, writableOf(document, kind), found?.body, record);
  if (found === undefined) {
    if (kind.shown !== undefined) throw usageFailure(`${kind.name}.${name}: there is no such record.`);
    const given = Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
    return [
      {
        ...change,
        differences,
        secrets,
        request: { method: "POST", path: `/${kind.name}`, body: { ...given, [kind.key]: name } },
      },
    ];
  }
  if (differences.length === 0) return [];
  const differs = (member: string) => differences.some(({ path: at }) => at === member || at.startsWith(`${member}.`));
  const changed = Object.keys(record).filter(differs);
  const fixed = changed.find((member) => kind.fixed.includes(member));
  if (fixed !== undefined)
    throw usageFailure(
      `${kind.name}.${name}: ${fixed} cannot be changed. Declare a new record, and null for this one.`,
    );
  const body = Object.fromEntries(changed.map((member) => [member, record[member]]));
  if (kind.shown !== undefined) {
    const stored = Object.entries(found.body).filter(([member]) => !kind.shown?.includes(member));
    const whole = applyMergePatch(Object.fromEntries(stored), body);
    return [{ ...change, differences, request: { method: "PUT", path, body: whole, ifMatch: etag } }];
  }
  // Another client there has another secret; otherwise the secret stays.
  const isOtherClient = changed.some((member) => ["client_id", "token_endpoint_auth_method"].includes(member));
  const request = { method: "PATCH", path, body, ifMatch: etag } as const;
  return [{ ...change, differences, request, ...(isOtherClient && { secrets }) }];
}

function withoutSecrets({ name: kind, secrets = [] }: DeclaredKind, wanted: Readonly<Record<string, unknown>>) {
  const variables = new Map(secrets.map((member) => [`${member}_env`, member]));
  const isVariable = ([name]: [string, unknown]) => variables.has(name);
  const members = Object.entries(wanted);
  const named = members.filter(isVariable).map(([name, variable]): [string, string] => {
    if (typeof variable === "string") return [variables.get(name)!, variable];
    throw usageFailure(`${kind}: ${name} must be the name of an environment variable.`);
  });
  return {
    record: Object.fromEntries(members.filter((member) => !isVariable(member))),
    secrets: Object.fromEntries(named),
  };
}

/** The schema of a record, with its defaults. */
function writableOf(document: ApiDocument, kind: DeclaredKind): Schema {
  return bodyOf(document, kind, kind.shown === undefined ? "POST" : "PUT");
}

/** The schema of the body of a creation, or of a change of one record. */
function bodyOf(document: ApiDocument, { name }: DeclaredKind, method: string): Schema {
  const ofRecord = Object.entries(document.paths).find(([path]) => path.startsWith(`/${name}/{`) && path.endsWith("}"));
  const operations = method === "POST" ? document.paths[`/${name}`] : ofRecord?.[1];
  return schemaOf(document, operations?.[method.toLowerCase()]?.requestBody) ?? {};
}

/** Differences that remain in the response to a change: the provider stores these members in another form than declared. */
export function remainingDifferences(
  document: ApiDocument,
  { kind, request }: Change,
  stored: Readonly<Record<string, unknown>>,
): readonly Difference[] {
  const { [kind.key]: _, ...wanted } = (request.body ?? {}) as Readonly<Record<string, unknown>>;
  return kind.values === undefined ? findDifferences(document, writableOf(document, kind), stored, wanted) : [];
}
