/** **Accounts, D1, KV and queues.** */

import { randomBytes, randomUUID } from "node:crypto";
import type { AccountState } from "./account-state.ts";
import { ApiFault, type ApiRequest, type ApiRoute, route } from "./api-call.ts";
import type { LocalCloudflare } from "./local-cloudflare.ts";

export function accountOf(local: LocalCloudflare, id: string | undefined): AccountState {
  const account = local.accounts.find((each) => each.id === id);
  if (account === undefined) throw new ApiFault(404, 7003, "Could not route to the account");
  return account;
}

export function objectBody({ body }: ApiRequest): Record<string, unknown> {
  if (typeof body !== "object" || body === null) throw new ApiFault(400, 10001, "a JSON object is needed");
  return body as Record<string, unknown>;
}

const account = "/accounts/{account}";

const accountRoutes = [
  route("GET", "/accounts", (local) => local.accounts.map(({ id, name }) => ({ id, name, type: "standard" }))),
  route("GET", "/memberships", (local) =>
    local.accounts.map(({ id, name }) => ({ id, status: "accepted", account: { id, name } })),
  ),
  route("GET", "/user/tokens/verify", () => ({ id: "t", status: "active" })),
];

const databaseRoutes = [
  route("GET", `${account}/d1/database`, (local, _request, parts) =>
    [...accountOf(local, parts.account).databases.values()].map(({ uuid, name }) => ({ uuid, name })),
  ),
  route("POST", `${account}/d1/database`, (local, request, parts) => {
    const { name, ...place } = objectBody(request);
    const { databases } = accountOf(local, parts.account);
    if ([...databases.values()].some((each) => each.name === name)) throw new ApiFault(400, 7502, "exists");
    const created = { uuid: randomUUID(), name: String(name), place };
    databases.set(created.uuid, created);
    local.workers.change();
    return { uuid: created.uuid, name };
  }),
  route("GET", `${account}/d1/database/{database}`, (local, _request, parts) => {
    const found = accountOf(local, parts.account).databases.get(parts.database!);
    if (found === undefined) throw new ApiFault(404, 7404, "The database could not be found");
    return { uuid: found.uuid, name: found.name, version: "production" };
  }),
  route("POST", `${account}/d1/database/{database}/query`, async (local, request, parts) => {
    const { sql, params } = objectBody(request) as { sql: string; params?: unknown[] };
    if (!accountOf(local, parts.account).databases.has(parts.database!)) throw new ApiFault(404, 7404, "not found");
    try {
      return await local.workers.query(parts.database!, sql, params ?? []);
    } catch (error) {
      throw new ApiFault(400, 7500, error instanceof Error ? error.message : String(error));
    }
  }),
  // wrangler d1 execute --file: begins, uploads to an address of its own, and asks to carry it out.
  route("POST", `${account}/d1/database/{database}/import`, async (local, request, parts) => {
    const { action, etag } = objectBody(request) as { action: string; etag: string };
    const common = { success: true, type: "import", at_bookmark: "b", messages: [] };
    const filename = `${etag}.sql`;
    if (action === "init") return { ...common, filename, upload_url: `${local.apiUrl}/uploads/${filename}` };
    const sql = local.uploads.get(filename)!;
    try {
      const results = await local.workers.query(parts.database!, sql, []);
      const meta = { duration: 1, rows_read: 0, rows_written: 0, size_after: 0 };
      const result = { num_queries: results.length, final_bookmark: "b", meta };
      return { ...common, status: "complete", result };
    } catch (error) {
      return { ...common, success: false, status: "error", error: String(error) };
    }
  }),
  route("PUT", "/uploads/{file}", (local, { body }, parts) => {
    local.uploads.set(parts.file!, String(body));
    return new Response("", { headers: { etag: `"${parts.file!.replace(".sql", "")}"` } });
  }),
  // The state of no earlier moment is kept.
  route("GET", `${account}/d1/database/{database}/time_travel/bookmark`, (_local, { search }) => ({
    bookmark: `${Date.parse(search.get("timestamp")!).toString(16).slice(-8)}-00000000-00000000-${"0".repeat(32)}`,
  })),
  route("POST", `${account}/d1/database/{database}/time_travel/restore`, (_local, { search }) => ({
    bookmark: search.get("bookmark"),
    previous_bookmark: `ffffffff-ffffffff-ffffffff-${"f".repeat(32)}`,
  })),
  route("DELETE", `${account}/d1/database/{database}`, (local, _request, parts) => {
    accountOf(local, parts.account).databases.delete(parts.database!);
    local.workers.change();
    return null;
  }),
];

const namespaceRoutes = [
  route("GET", `${account}/storage/kv/namespaces`, (local, _request, parts) => [
    ...accountOf(local, parts.account).namespaces.values(),
  ]),
  route("POST", `${account}/storage/kv/namespaces`, (local, request, parts) => {
    const created = { id: randomBytes(16).toString("hex"), title: String(objectBody(request)["title"]) };
    accountOf(local, parts.account).namespaces.set(created.id, created);
    return created;
  }),
  route("DELETE", `${account}/storage/kv/namespaces/{namespace}`, (local, _request, parts) => {
    accountOf(local, parts.account).namespaces.delete(parts.namespace!);
    return null;
  }),
];

function bucketOf(
  local: LocalCloudflare,
  { jurisdiction }: ApiRequest,
  { account: id, bucket = "" }: Readonly<Record<string, string>>,
): string {
  if (accountOf(local, id).buckets.get(bucket) === jurisdiction) return bucket;
  throw new ApiFault(404, 10006, "no such bucket");
}

const bucketRoutes = [
  route("GET", `${account}/r2/buckets`, (local, { jurisdiction }, parts) => ({
    buckets: [...accountOf(local, parts.account).buckets]
      .filter(([, place]) => place === jurisdiction)
      .map(([name]) => ({ name })),
  })),
  route("POST", `${account}/r2/buckets`, (local, request, parts) => {
    const name = String(objectBody(request)["name"]);
    accountOf(local, parts.account).buckets.set(name, request.jurisdiction);
    local.workers.change();
    return { name };
  }),
  route("GET", `${account}/r2/buckets/{bucket}`, (local, request, parts) => ({
    name: bucketOf(local, request, parts),
  })),
  route("GET", `${account}/r2/buckets/{bucket}/objects`, async (local, request, parts) => {
    const { search } = request;
    const [prefix, delimiter] = [search.get("prefix") ?? "", search.get("delimiter") ?? ""];
    const bucket = await local.workers.bucket(parts.bucket!);
    const { objects, delimitedPrefixes } = await bucket.list({ prefix, delimiter });
    const info = { result_info: { delimited: delimitedPrefixes, is_truncated: false, per_page: 20 } };
    return Response.json({
      success: true,
      errors: [],
      messages: [],
      result: objects.map(({ key }) => ({ key })),
      ...info,
    });
  }),
  route("GET", `${account}/r2/buckets/{bucket}/objects/{name}`, async (local, _request, parts) => {
    const found = await (await local.workers.bucket(parts.bucket!)).get(decodeURIComponent(parts.name!));
    if (found === null) throw new ApiFault(404, 10007, "no such object");
    return new Response(await found.arrayBuffer());
  }),
];

function queueById(local: LocalCloudflare, parts: Readonly<Record<string, string>>) {
  const found = accountOf(local, parts.account).queues.get(parts.queue!);
  if (found === undefined) throw new ApiFault(404, 11000, "queue not found");
  return found;
}

function toConsumer({
  id,
  script,
  settings,
  deadLetters,
}: {
  id: string;
  script: string;
  settings: unknown;
  deadLetters: string | undefined;
}) {
  return { consumer_id: id, script, script_name: script, type: "worker", settings, dead_letter_queue: deadLetters };
}

const queueRoutes = [
  route("GET", `${account}/queues`, (local, request, parts) => {
    const name = request.search.get("name");
    return [...accountOf(local, parts.account).queues.values()]
      .filter((queue) => name === null || queue.name === name)
      .map((queue) => ({
        queue_id: queue.id,
        queue_name: queue.name,
        consumers: queue.consumers.map(toConsumer),
        producers: [],
        consumers_total_count: queue.consumers.length,
        producers_total_count: 0,
      }));
  }),
  route("POST", `${account}/queues`, (local, request, parts) => {
    const name = String(objectBody(request)["queue_name"]);
    const { queues } = accountOf(local, parts.account);
    if ([...queues.values()].some((queue) => queue.name === name)) throw new ApiFault(409, 11009, "queue exists");
    const created = { id: randomBytes(16).toString("hex"), name, consumers: [] };
    queues.set(created.id, created);
    return { queue_id: created.id, queue_name: name };
  }),
  route("DELETE", `${account}/queues/{queue}`, (local, _request, parts) => {
    const { id, consumers } = queueById(local, parts);
    if (consumers.length > 0) throw new ApiFault(400, 11005, "queue has consumers");
    accountOf(local, parts.account).queues.delete(id);
    return null;
  }),
  route("GET", `${account}/queues/{queue}/consumers`, (local, _request, parts) =>
    queueById(local, parts).consumers.map(toConsumer),
  ),
  route("POST", `${account}/queues/{queue}/consumers`, (local, request, parts) => {
    const body = objectBody(request);
    const { consumers } = queueById(local, parts);
    if (consumers.length > 0) throw new ApiFault(400, 11004, "queue already has a consumer");
    const deadLetters = body["dead_letter_queue"];
    const created = {
      id: randomBytes(16).toString("hex"),
      script: String(body["script_name"]),
      settings: body["settings"],
      deadLetters: typeof deadLetters === "string" ? deadLetters : undefined,
    };
    consumers.push(created);
    local.workers.change();
    return toConsumer(created);
  }),
  route(
    "PUT",
    `${account}/queues/{queue}/consumers/{consumer}`,
    (local, _request, parts) => queueById(local, parts).consumers.map(toConsumer)[0],
  ),
  route("DELETE", `${account}/queues/{queue}/consumers/{consumer}`, (local, _request, parts) => {
    const { consumers } = queueById(local, parts);
    consumers.splice(0, consumers.length, ...consumers.filter(({ id }) => id !== parts.consumer));
    local.workers.change();
    return null;
  }),
];

export const storeRoutes: readonly ApiRoute[] = [
  ...accountRoutes,
  ...databaseRoutes,
  ...namespaceRoutes,
  ...bucketRoutes,
  ...queueRoutes,
];
