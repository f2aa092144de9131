import type { JsonObject } from "@edge-op/protocol/encoding/json-object";
import { membershipId } from "@edge-op/shared/cut-offs/cut-offs";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { type AdminChange, commitChange } from "../admin/commit-change.ts";
import { mayBeConflict, nextVersion, retryOnConflict } from "../admin/optimistic-concurrency.ts";
import { everyMembership } from "../organizations/organization-table.ts";
import { type Operation, readOperations } from "./dialects.ts";
import { type DirectoryGroup, groupFilters, type MemberChange, newId } from "./directory-store.ts";
import {
  isAskedFor,
  listResponse,
  project,
  type Resource,
  readWindow,
  requireVersion,
  type ScimCall,
  showGroup,
} from "./resources.ts";
import { type Document, groupAttributes, invalidValue, memberOf, readDocument, readValue } from "./schema.ts";
import { resourceMissing, ScimError } from "./scim-error.ts";

/** Of a page; with the members of each, fewer. */
const mostGroups = 1_000;
const mostGroupsWithMembers = 20;
/** Members whose copies a change names; beyond, it names every membership. */
const mostNamed = 50;

type Described = Pick<DirectoryGroup, "displayName" | "externalId">;
interface GroupChange {
  readonly described: Described;
  readonly members: MemberChange;
}

const unchanged: MemberChange = { keeps: true, add: new Set(), remove: new Set() };

async function shown(call: ScimCall, group: DirectoryGroup): Promise<Resource> {
  const { groupId } = group;
  const members = isAskedFor(call.search, "members") ? await call.store.listMembers([groupId]) : undefined;
  return project(call, showGroup(call, group, members?.get(groupId)));
}

async function requireGroup({ store }: ScimCall, groupId: string): Promise<DirectoryGroup> {
  const group = await store.findGroup(groupId);
  if (group === undefined) throw resourceMissing();
  return group;
}

export async function listGroups(call: ScimCall) {
  const { store, search } = call;
  const withMembers = isAskedFor(search, "members");
  const window = readWindow(call, groupFilters, withMembers ? mostGroupsWithMembers : mostGroups);
  const [found, total] = await Promise.all([store.listGroups(window), store.count("scim_groups", window.condition)]);
  const members = withMembers ? await store.listMembers(found.map(({ groupId }) => groupId)) : undefined;
  const resources = found.map((group) => project(call, showGroup(call, group, members?.get(group.groupId))));
  return listResponse(resources, total, window);
}

export async function readGroup(call: ScimCall, groupId: string): Promise<Resource> {
  return shown(call, await requireGroup(call, groupId));
}

export async function createGroup(call: ScimCall, body: JsonObject): Promise<Resource> {
  const change = readGroupBody(body);
  const { externalId } = change.described;
  const group = await retryOnConflict(async () => {
    const known = externalId === undefined ? undefined : await call.store.findGroupByExternalId(externalId);
    return write(call, known, change);
  });
  return shown(call, group);
}

export async function replaceGroup(call: ScimCall, groupId: string, body: JsonObject): Promise<Resource> {
  const change = readGroupBody(body);
  return update(call, groupId, () => change);
}

export async function patchGroup(call: ScimCall, groupId: string, body: JsonObject): Promise<Resource> {
  const operations = readOperations(groupAttributes, body);
  return update(call, groupId, (known) => applyToGroup(known, operations));
}

async function update(
  call: ScimCall,
  groupId: string,
  changeOf: (known: DirectoryGroup) => GroupChange,
): Promise<Resource> {
  const group = await retryOnConflict(async () => {
    const known = await requireGroup(call, groupId);
    requireVersion(call, known.version);
    return write(call, known, changeOf(known));
  });
  return shown(call, group);
}

function describedBy({ displayName, externalId }: Document): Described {
  if (typeof displayName !== "string") throw invalidValue("displayName", "is required");
  return { displayName, externalId: typeof externalId === "string" ? externalId : undefined };
}

function readGroupBody(body: JsonObject): GroupChange {
  const { members: _read, ...others } = groupAttributes;
  const members = { keeps: false, add: idsOf(memberOf(body, "members") ?? []), remove: new Set<string>() };
  return { described: describedBy(readDocument(others, body)), members };
}

/** The ids of members: a list of objects, or one. A body bounds their number. */
function idsOf(raw: unknown): ReadonlySet<string> {
  const part = { kind: "complex", parts: groupAttributes["members"]!.parts! } as const;
  const ids = [raw].flat().map((each: unknown) => {
    const value = (readValue(part, each, "members") as Document | undefined)?.["value"];
    if (typeof value !== "string") throw invalidValue("members", "have a value");
    return value;
  });
  return new Set(ids);
}

/** Folds the operations into one change, in their order. Pure: a refused operation changes nothing (S6). */
function applyToGroup(known: DirectoryGroup, operations: readonly Operation[]): GroupChange {
  const described: Document = { displayName: known.displayName, externalId: known.externalId };
  let members: MemberChange = unchanged;
  for (const { op, target, value } of operations) {
    if (target.name === "members") members = changeMembers(members, { op, target, value });
    else described[target.name] = op === "remove" ? undefined : readValue(target.attribute, value, target.name);
  }
  return { described: describedBy(described), members };
}

type Ids = ReadonlySet<string>;
const together = (one: Ids, other: Ids): Ids => new Set([...one, ...other]);
const without = (one: Ids, other: Ids): Ids => new Set([...one].filter((id) => !other.has(id)));

function changeMembers({ keeps, add, remove }: MemberChange, { op, target, value }: Operation): MemberChange {
  const { where, parts } = target;
  if (parts.length > 0) throw new ScimError(400, "members are added and removed as a whole.", "mutability");
  if (op === "remove") {
    const named = where === undefined ? value : where.map(([part, id]) => (part === "value" ? id : undefined));
    // By the RFC this removes everybody; directories that mean it send `replace` with an empty list.
    if (named === undefined || named === null || (Array.isArray(named) && named.length === 0)) {
      throw new ScimError(400, "remove of members names whom.", "noTarget");
    }
    const ids = idsOf(where === undefined ? named : [named].flat().map((id) => ({ value: id })));
    return { keeps, add: without(add, ids), remove: together(remove, ids) };
  }
  if (where !== undefined) throw new ScimError(400, "members are added by their values.", "invalidPath");
  const ids = idsOf(value ?? []);
  if (op === "replace") return { keeps: false, add: ids, remove: new Set() };
  return { keeps, add: together(add, ids), remove: without(remove, ids) };
}

/** **Writes a group and its members in one transaction**, in a fixed number of statements. `undefined`: another change came in between. */
async function write(
  call: ScimCall,
  known: DirectoryGroup | undefined,
  { described, members }: GroupChange,
): Promise<DirectoryGroup | undefined> {
  const { store } = call;
  const atMs = nextVersion(known?.version ?? 0, nowMs());
  const changesMembers = !members.keeps || members.add.size + members.remove.size > 0;
  const isSame = known?.displayName === described.displayName && known.externalId === described.externalId;
  if (known !== undefined && isSame && !changesMembers) return known;
  if ((await store.countUsers([...members.add])) < members.add.size) {
    throw invalidValue("members", "are users of this organisation; a group is in no group");
  }
  const groupId = known?.groupId ?? newId(atMs);
  const group: DirectoryGroup = { groupId, createdAtMs: known?.createdAtMs ?? atMs, ...described, version: atMs };
  const givesRoles = known !== undefined && (await store.givesRoles(groupId));
  const statements = [
    known === undefined ? store.insertGroup(group) : store.updateGroup(group, known.version, givesRoles),
    ...(changesMembers ? store.changeMembers(groupId, members) : []),
  ];
  const counts = {
    added: members.add.size,
    ...(members.keeps ? { removed: members.remove.size } : { replaced: true }),
  };
  try {
    await commitChange(call, {
      statements,
      forget: givesRoles && changesMembers ? await touched(call, groupId, members) : [],
      event: {
        action: `organization.${known === undefined ? "scim_group_add" : "scim_group_update"}`,
        target: store.orgId,
        detail: { group_id: groupId, ...(changesMembers && counts) },
      },
    });
  } catch (cause) {
    if (!mayBeConflict(cause)) throw cause;
    for (const name of ["displayName", "externalId"] as const) {
      const { column, toStored } = groupFilters[name.toLowerCase()]!;
      const values = [toStored(described[name] ?? ""), groupId];
      const count = await store.count("scim_groups", {
        sql: ` AND ${column.replace("$", "?2")} AND group_id <> ?3`,
        values,
      });
      if (count > 0) throw new ScimError(409, `Another group has this ${name}.`, "uniqueness");
    }
    return undefined;
  }
  return group;
}

/** S5: the copies of memberships whose roles a change of a group may change. */
async function touched({ store }: ScimCall, groupId: string, members: MemberChange): Promise<AdminChange["forget"]> {
  const subs = await store.listTouched(groupId, members, mostNamed + 1);
  if (subs.length > mostNamed) return [everyMembership];
  return subs.map((sub) => ({ kind: "membership", id: membershipId(store.orgId, sub) }) as const);
}

export async function deleteGroup(call: ScimCall, groupId: string): Promise<void> {
  const { store } = call;
  const group = await requireGroup(call, groupId);
  requireVersion(call, group.version);
  const givesRoles = await store.givesRoles(groupId);
  const everybody: MemberChange = { keeps: false, add: new Set(), remove: new Set() };
  await commitChange(call, {
    statements: [store.updateGroup(group, group.version, givesRoles), store.deleteGroup(groupId)],
    forget: givesRoles ? await touched(call, groupId, everybody) : [],
    event: { action: "organization.scim_group_remove", target: store.orgId, detail: { group_id: groupId } },
  });
}
