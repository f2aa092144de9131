import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { type AdminChange, commitChange } from "../admin/commit-change.ts";
import { mayBeConflict, nextVersion, retryOnConflict } from "../admin/optimistic-concurrency.ts";
import { users } from "../users/user-table.ts";
import { applyOperations } from "./apply-patch.ts";
import { readOperations } from "./dialects.ts";
import { type DirectoryUser, newId, userFilters } from "./directory-store.ts";
import { endPerson, type PersonChange, restorePerson } from "./end-person.ts";
import { findLink, type Link } from "./link-person.ts";
import {
  isAskedFor,
  listResponse,
  project,
  type Resource,
  readWindow,
  requireVersion,
  type ScimCall,
  showUser,
} from "./resources.ts";
import { type Document, emptyDocument, invalidValue, readDocument, userAttributes } from "./schema.ts";
import { resourceMissing, ScimError } from "./scim-error.ts";

const mostDocumentBytes = 8_192;
const mostUsers = 1_000;

/** The document of a body or patch: complete, within its bound, with `active` as it was unless it is said. */
function requireDocument(document: Document, wasActive: boolean): Document {
  if (typeof document["userName"] !== "string") throw invalidValue("userName", "is required");
  const whole = Object.assign(emptyDocument(), document, { active: document["active"] ?? wasActive });
  if (new TextEncoder().encode(JSON.stringify(whole)).length > mostDocumentBytes) {
    throw invalidValue("The user", `has at most ${mostDocumentBytes} bytes`);
  }
  return whole;
}

async function shown(call: ScimCall, user: DirectoryUser): Promise<Resource> {
  const groups = isAskedFor(call.search, "groups") ? await call.store.listGroupsOf([user.scimId]) : undefined;
  return project(call, showUser(call, user, groups?.get(user.scimId)));
}

async function requireUser({ store }: ScimCall, scimId: string): Promise<DirectoryUser> {
  const user = await store.findUser(scimId);
  if (user === undefined) throw resourceMissing();
  return user;
}

export async function listUsers(call: ScimCall) {
  const { store, search } = call;
  const window = readWindow(call, userFilters, mostUsers);
  const [found, total] = await Promise.all([store.listUsers(window), store.count("scim_users", window.condition)]);
  const groups = isAskedFor(search, "groups") ? await store.listGroupsOf(found.map(({ scimId }) => scimId)) : undefined;
  const resources = found.map((user) => project(call, showUser(call, user, groups?.get(user.scimId))));
  return listResponse(resources, total, window);
}

export async function readUser(call: ScimCall, scimId: string): Promise<Resource> {
  return shown(call, await requireUser(call, scimId));
}

/** S4: a creation with the `externalId` of a user is that user, as the body says. */
export async function createUser(call: ScimCall, body: JsonObject): Promise<Resource> {
  const given = readDocument(userAttributes, body);
  const { externalId } = given;
  const user = await retryOnConflict(async () => {
    const known = typeof externalId === "string" ? await call.store.findByExternalId(externalId) : undefined;
    return write(call, known, requireDocument(given, known?.active ?? true));
  });
  return shown(call, user);
}

export async function replaceUser(call: ScimCall, scimId: string, body: JsonObject): Promise<Resource> {
  const given = readDocument(userAttributes, body);
  return change(call, scimId, ({ active }) => requireDocument(given, active));
}

export async function patchUser(call: ScimCall, scimId: string, body: JsonObject): Promise<Resource> {
  const operations = readOperations(userAttributes, body);
  return change(call, scimId, ({ document, active }) => requireDocument(applyOperations(document, operations), active));
}

async function change(call: ScimCall, scimId: string, changed: (known: DirectoryUser) => Document): Promise<Resource> {
  const user = await retryOnConflict(async () => {
    const known = await requireUser(call, scimId);
    requireVersion(call, known.version);
    return write(call, known, changed(known));
  });
  return shown(call, user);
}

/**
 * **Writes a user and what follows for the person, in one transaction.** `undefined`: another change came in between. What changes nothing writes
 * nothing, but for a deactivation.
 */
async function write(
  call: ScimCall,
  known: DirectoryUser | undefined,
  document: Document,
): Promise<DirectoryUser | undefined> {
  const { store } = call;
  const atMs = nextVersion(known?.version ?? 0, nowMs());
  const active = document["active"] !== false;
  const first = {
    scimId: newId(atMs),
    sub: undefined,
    createdAccount: false,
    suspendedAtMs: undefined,
    createdAtMs: atMs,
  };
  const user: DirectoryUser = { ...first, ...known, active, document, version: atMs };
  const names = changedNames(known?.document, document);
  const { person, link } = await personOf(call, known, user);
  if (known !== undefined && names.length === 0 && person === undefined && link === undefined) return known;

  const written: DirectoryUser = {
    ...user,
    ...(person !== undefined && { version: person.atMs, suspendedAtMs: person.suspendedAtMs }),
    ...(link !== undefined && {
      sub: link.sub,
      createdAccount: link.account !== undefined || (link.sub === known?.sub && known.createdAccount),
      suspendedAtMs: undefined,
    }),
  };
  const rows =
    known === undefined
      ? [store.insertUser(written)]
      : [store.refuseOtherVersion(known.scimId, known.version), store.updateUser(written)];
  const statements = [...rows, ...(person?.statements ?? []), ...(link?.statements ?? [])];
  const action = known === undefined ? "scim_add" : active || !known.active ? "scim_update" : "scim_suspend";
  const detail = { scim_id: user.scimId, names, ...(written.sub !== undefined && { sub: written.sub }) };
  try {
    if (link?.account === undefined) {
      await commitChange(call, {
        statements,
        forget: person?.forget ?? link?.forget ?? [],
        ...(person?.cutOff !== undefined && { cutOff: person.cutOff }),
        event: { action: `organization.${action}`, target: store.orgId, detail },
      });
    } else {
      await users.create(call, link.account, { statements, detail: { org_id: store.orgId, ...detail } });
    }
  } catch (cause) {
    if (!mayBeConflict(cause)) throw cause;
    await refuseTaken(call, written);
    const current = known && (await store.findUser(known.scimId));
    const isUnchanged =
      known !== undefined && current?.version === known.version && link === undefined && person === undefined;
    if (isUnchanged) throw cause;
    return undefined;
  }
  return written;
}

/** What a change means for the person: an end, a return or a connection. */
async function personOf(
  call: ScimCall,
  known: DirectoryUser | undefined,
  user: DirectoryUser,
): Promise<{ readonly person?: PersonChange | undefined; readonly link?: Link | undefined }> {
  const sub = known?.sub;
  if (!user.active)
    return known === undefined || sub === undefined ? {} : { person: await endPerson(call, known, sub, false) };
  if (known !== undefined && sub !== undefined) {
    if (known.active) return {};
    const person = await restorePerson(call, known, sub);
    if (person !== undefined) return { person };
  }
  // Without a membership: connected as at first, by the rule of S2 alone.
  return { link: await findLink(call, user, user.version) };
}

async function refuseTaken({ store }: ScimCall, { scimId, document }: DirectoryUser): Promise<void> {
  for (const name of ["userName", "externalId"] as const) {
    const value = document[name];
    if (typeof value !== "string") continue;
    const { column, toStored } = userFilters[name.toLowerCase()]!;
    const condition = { sql: ` AND ${column.replace("$", "?2")} AND scim_id <> ?3`, values: [toStored(value), scimId] };
    const count = await store.count("scim_users", condition);
    if (count > 0) throw new ScimError(409, `Another user has this ${name}.`, "uniqueness");
  }
}

/** The names of the attributes that differ, for the audit event: never their values. */
function changedNames(before: JsonObject | undefined, after: Document): readonly string[] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after)]);
  const textOf = (value: unknown) => JSON.stringify(sorted(value)) ?? "";
  return [...names].filter((name) => textOf(before?.[name]) !== textOf(after[name])).toSorted();
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.entries(value)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, each]) => [name, sorted(each)]);
}

/** Removes the user and the membership; the response is sent when both are in force. */
export async function deleteUser(call: ScimCall, scimId: string): Promise<void> {
  const { store } = call;
  await retryOnConflict(async () => {
    const known = await requireUser(call, scimId);
    requireVersion(call, known.version);
    const { sub, version } = known;
    const person = sub === undefined ? undefined : await endPerson(call, known, sub, true);
    const removal: AdminChange = {
      statements: [store.refuseOtherVersion(scimId, version), ...(person?.statements ?? []), store.deleteUser(scimId)],
      forget: person?.forget ?? [],
      cutOff: person?.cutOff,
      event: {
        action: "organization.scim_remove",
        target: store.orgId,
        detail: { scim_id: scimId, ...(sub !== undefined && { sub }) },
      },
    };
    try {
      await commitChange(call, removal);
      return true;
    } catch (cause) {
      if (!mayBeConflict(cause) || (await store.findUser(scimId))?.version === version) throw cause;
      return undefined;
    }
  });
}
