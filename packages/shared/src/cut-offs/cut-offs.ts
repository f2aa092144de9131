/**
 * **Cut-offs in the records of users and clients** (ADR 28). Shards replicate a cut-off for the lifetime of the longest-lived existing access token.
 * Refresh tokens and sessions live longer and are refused by the records, which contain the cut-off until every earlier grant has expired. A cut-off
 * is written in the D1 transaction of its change, so a record that is read at the version of the change contains it.
 */

import { isNumber, isText, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { grantLifeMs, tokenLifeMs } from "../storage/generation-table.ts";

export interface RecordedCutOff {
  readonly key: string;
  /** Grants that rest on an older control version are revoked (ADR 28). */
  readonly version: number;
}

/** As shards replicate it. */
export interface CutOff extends RecordedCutOff {
  readonly untilMs: number;
}

/** Two cut-offs of one key: each member by maximum, in any order and any number of times. */
export function combineCutOffs(one: CutOff, other: CutOff): CutOff {
  return {
    key: one.key,
    untilMs: Math.max(one.untilMs, other.untilMs),
    version: Math.max(one.version, other.version),
  };
}

/** The record is read at every refresh, so a cut-off in it must outlive the longest family under any setting. */
export function cutOffUntilMs(nowMs: number): number {
  return nowMs + grantLifeMs;
}

/**
 * How long a shard replicates a cut-off that it receives at `nowMs`: until the longest-lived token that was issued before the cut-off was in force
 * has expired. The records contain it for longer (ADR 28).
 */
export function replicatedUntilMs(nowMs: number): number {
  return nowMs + tokenLifeMs;
}

/** Selects the cut-offs of the record `?1`, and of the deployment, as JSON. */
export function selectCutOffs(kind: "sub" | "client"): string {
  return `(SELECT json_group_array(json_object('key', key, 'version', version)) FROM cut_offs WHERE key IN ('nb:${kind}:' || ?1, 'nb:tenant:default')) AS cut_offs`;
}

/** A condition in SQL: whether a change has cut off a sign-in of the user ?1 at the version ?2. */
export const isCutOffSince =
  "EXISTS (SELECT 1 FROM cut_offs WHERE key IN ('nb:sub:' || ?1, 'nb:tenant:default') AND version > ?2)";

const areCutOffs = listOf(objectOf<RecordedCutOff>({ key: isText, version: isNumber }));

/** The text of {@link selectCutOffs}. */
export function parseCutOffs(json: string): readonly RecordedCutOff[] {
  return readStored("cut-offs", json, areCutOffs);
}

const combine =
  "ON CONFLICT (key) DO UPDATE SET version = max(version, excluded.version), until_ms = max(until_ms, excluded.until_ms)";

/** Records a cut-off with the version of the change that was inserted before it in the same transaction. */
export function recordNewest(
  database: D1Database,
  { key, untilMs }: { readonly key: string; readonly untilMs: number },
): D1PreparedStatement {
  return database
    .prepare(`INSERT INTO cut_offs SELECT ?1, max(version), ?2 FROM control_changes WHERE true ${combine}`)
    .bind(key, untilMs);
}

/** Records cut-offs whose versions are known. Some of them may be recorded already. One statement, at most {@link recordedAtOnce}. */
export function recordAll(
  database: D1Database,
  cutOffs: readonly (RecordedCutOff & { readonly untilMs: number })[],
): D1PreparedStatement {
  return database
    .prepare(
      `INSERT INTO cut_offs SELECT value ->> 'key', value ->> 'version', value ->> 'untilMs' FROM json_each(?1) WHERE true ${combine}`,
    )
    .bind(JSON.stringify(cutOffs));
}

/** About 100 KB of one parameter. */
export const recordedAtOnce = 1_000;

/** `member`: of an organisation, by the id of its membership. */
export type CutOffKind = "sub" | "client" | "member" | "org" | "tenant";

const namingKinds = ["sub", "client", "member", "org"] as const;

/** The id of the record of a membership, and of its cut-off. The id of an organisation has no colon. */
export function membershipId(orgId: string, sub: string): string {
  return `${orgId}:${sub}`;
}

export function cutOffKey(kind: CutOffKind, id: string): string {
  return `nb:${kind}:${id}`;
}

export function cutOffKind(key: string): CutOffKind {
  return namingKinds.find((kind) => key.startsWith(cutOffKey(kind, ""))) ?? "tenant";
}
