/**
 * **A Worker through which this process reads and writes the provider's database and cache, and starts its objects.** Miniflare's own stubs of these
 * block this process until the runtime responds, and the runtime blocks when its output is not read: with many log lines at a restart, neither
 * continues.
 */

import type { Miniflare, V4WorkerOptions } from "miniflare";
import { callHelper } from "./runtime-process.ts";
import { boundElsewhere } from "./workers.ts";

const storeWorkerName = "local-stores";

export type DatabaseName = "DB" | "AUDIT_DB";

export interface Statement {
  readonly sql: string;
  readonly parameters?: readonly (string | number)[];
}

interface NamedObject {
  readonly binding: string;
  readonly name: string;
}

type Row = Readonly<Record<string, unknown>>;

const source = `export default {
  async fetch(request, env) {
    const { database, statements, objects, backup } = await request.json();
    if (backup === null) return Response.json((await env.BACKUP.list()).objects.map(({ key }) => key));
    if (backup !== undefined) return Response.json([...new Uint8Array(await (await env.BACKUP.get(backup)).arrayBuffer())]);
    if (objects !== undefined) {
      // The objects have no HTTP handler: the call starts the object and is then refused.
      const start = ({ binding, name }) => env[binding].getByName(name).fetch("http://object/").catch(() => {});
      await Promise.all(objects.map(start));
      return Response.json([]);
    }
    if (database !== undefined) {
      const prepared = statements.map(({ sql, parameters = [] }) => env[database].prepare(sql).bind(...parameters));
      const results = await env[database].batch(prepared);
      return Response.json(results.map(({ results }) => results));
    }
    const { keys } = await env.CACHE.list();
    await Promise.all(keys.map(({ name }) => env.CACHE.delete(name)));
    return Response.json([]);
  },
};`;

/** Adds the Worker, with the stores of all other Workers. */
export function withStoreWorker(workers: readonly V4WorkerOptions[]): V4WorkerOptions[] {
  const bound = <Name extends "d1Databases" | "kvNamespaces" | "r2Buckets" | "durableObjects">(name: Name) =>
    Object.assign({}, ...workers.map((worker) => worker[name])) as NonNullable<V4WorkerOptions[Name]>;
  const worker: V4WorkerOptions = {
    name: storeWorkerName,
    modules: [{ type: "ESModule", path: "index.js", contents: source }],
    compatibilityDate: "2026-10-20",
    d1Databases: bound("d1Databases"),
    kvNamespaces: bound("kvNamespaces"),
    r2Buckets: bound("r2Buckets"),
    durableObjects: boundElsewhere(bound("durableObjects")),
  };
  return [...workers, worker];
}

async function send(runtime: Miniflare, message: Readonly<Record<string, unknown>>): Promise<readonly Row[][]> {
  return (await callHelper(runtime, storeWorkerName, "/", message)) as readonly Row[][];
}

/** Executes statements in one transaction; returns the rows of each. */
export function executeStatements(
  runtime: Miniflare,
  database: DatabaseName,
  statements: readonly Statement[],
): Promise<readonly Row[][]> {
  return send(runtime, { database, statements });
}

/** The keys of backups; the first thousand. */
export async function listBackups(runtime: Miniflare): Promise<readonly string[]> {
  return (await callHelper(runtime, storeWorkerName, "/", { backup: null })) as readonly string[];
}

export async function readBackup(runtime: Miniflare, key: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array((await callHelper(runtime, storeWorkerName, "/", { backup: key })) as readonly number[]);
}

export async function clearCache(runtime: Miniflare): Promise<void> {
  await send(runtime, {});
}

/** Sends each object a request with its name. */
export async function startObjects(runtime: Miniflare, objects: readonly NamedObject[]): Promise<void> {
  await send(runtime, { objects });
}
