/**
 * **The kinds of bindings of a Worker**: the members of its wrangler file and, as a type only, the value that its code receives. Ids and limits are
 * those of local runs; a deployment replaces them (scripts/deploy).
 */

import type { HooksWorker } from "@edge-op/shared/hooks/call-hook";

declare const value: unique symbol;

interface Typed<Value> {
  readonly [value]?: Value;
  /** A comment above it in the wrangler file. */
  readonly note?: string;
}

export interface Database extends Typed<D1Database> {
  readonly kind: "d1";
  readonly database: string;
  readonly id: string;
  /** Below the root of the repository. */
  readonly migrations: string;
}

export interface Namespace extends Typed<KVNamespace> {
  readonly kind: "kv";
  readonly id: string;
}

export interface ProducedQueue extends Typed<Queue> {
  readonly kind: "queue";
  readonly queue: string;
}

/** A Durable Object's class, by the migration that created it. `Rpc` is its contract (`shared`). */
export interface ObjectClass<Rpc extends globalThis.Rpc.DurableObjectBranded | undefined>
  extends Typed<DurableObjectNamespace<Rpc>> {
  readonly kind: "object";
  readonly className: string;
  /** The tag of the migration that created it. */
  readonly migration: string;
}

export interface Service extends Typed<Fetcher> {
  readonly kind: "service";
  readonly worker: string;
}

/** A rate limit that is counted by location: a shield, not a quota. `limit` is a number of requests in `period` seconds. */
export interface Limit extends Typed<RateLimit> {
  readonly kind: "rateLimit";
  readonly namespace: number;
  readonly limit: number;
  readonly period: 10 | 60;
  readonly optional: true;
}

export interface Dataset extends Typed<AnalyticsEngineDataset> {
  readonly kind: "dataset";
  readonly dataset: string;
  readonly optional: true;
}

export interface Bucket extends Typed<R2Bucket> {
  readonly kind: "r2";
  readonly bucket: string;
  readonly optional: true;
}

/** Cloudflare Email Sending. Not in the wrangler files: a deployment adds it if `MAIL_PROVIDER` is `cloudflare`. */
export interface Mail extends Typed<SendEmail> {
  readonly kind: "mail";
  readonly optional: true;
}

/** A Worker of the operator's (docs/operating/hooks.md). Not in the wrangler files: a deployment adds it if its file names the Worker. */
export interface Operated extends Typed<HooksWorker> {
  readonly kind: "operated";
  readonly optional: true;
}

export type Binding =
  | Database
  | Namespace
  | ProducedQueue
  | ObjectClass<undefined>
  | Service
  | Limit
  | Dataset
  | Bucket
  | Mail
  | Operated;

/** The value of a binding in a Worker's code. */
export type ValueOf<B> = B extends Typed<infer Value> ? Value : never;

export const d1 = (database: string, id: string, migrations: string, note = ""): Database => ({
  kind: "d1",
  database,
  id,
  migrations,
  note,
});
export const kv = (id: string): Namespace => ({ kind: "kv", id });
export const queue = (name: string): ProducedQueue => ({ kind: "queue", queue: name });
export const object = <Rpc extends globalThis.Rpc.DurableObjectBranded>(
  className: string,
  migration = "v1",
): ObjectClass<Rpc> => ({ kind: "object", className, migration });
export const service = (worker: string): Service => ({ kind: "service", worker });
export const rateLimit = (namespace: number, limit: number): Limit => ({
  kind: "rateLimit",
  namespace,
  limit,
  period: 10,
  optional: true,
});
export const dataset = (name: string, note: string): Dataset => ({
  kind: "dataset",
  dataset: name,
  note,
  optional: true,
});
export const r2 = (bucket: string, note: string): Bucket => ({ kind: "r2", bucket, note, optional: true });
export const operated: Operated = { kind: "operated", optional: true };
export const mail: Mail = { kind: "mail", optional: true };
