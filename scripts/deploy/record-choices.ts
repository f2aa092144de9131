import { randomBytes } from "node:crypto";
import type { Environment } from "./environment.ts";

export interface Choices {
  readonly environment: Environment;
  readonly issuer: string;
  /** Present for the first deployment; later ones find it recorded. */
  readonly fingerprint: string | undefined;
  /** Whether no Worker has been deployed yet, so that no object exists. */
  readonly isNew: boolean;
  readonly nowMs: number;
}

/**
 * **SQL that records the choices of a deployment**, once: environment, issuer, region, jurisdiction, fingerprint of the master key, token for the
 * facts. In a new database, the first generation of shards is placed in the region before any object exists.
 */
export function recordChoices({ environment, issuer, fingerprint, isNew, nowMs }: Choices): string {
  const { region } = environment;
  const place = `UPDATE shard_generations
    SET regions = json_object('${region}', json_object(
      'shards', (SELECT sum(value ->> '$.shards') FROM json_each(regions)), 'hint', '${region}'))
    WHERE generation = 1 AND NOT EXISTS (SELECT 1 FROM deployment WHERE name = 'region')`;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["environment", environment.name],
    ["issuer", issuer],
    ["jurisdiction", environment.jurisdiction],
    ["region", region],
    ["key_fingerprint", fingerprint],
    ["facts_token", randomBytes(32).toString("base64url")],
  ];
  return [
    ...(isNew ? [place] : []),
    ...rows.flatMap(([name, value]) => (value === undefined ? [] : [recordOnce(name, value, nowMs)])),
  ].join(";\n");
}

export function recordOnce(name: string, value: string, nowMs: number): string {
  return `INSERT INTO deployment (name, value, set_at_ms) VALUES ('${name}', ${quote(value)}, ${nowMs}) ON CONFLICT DO NOTHING`;
}

export function record(name: string, value: string, nowMs: number): string {
  return `INSERT INTO deployment (name, value, set_at_ms) VALUES ('${name}', ${quote(value)}, ${nowMs})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, set_at_ms = excluded.set_at_ms`;
}

/** After a restoration: the choices describe the Workers, which were not set back. What `DB` was migrated with is that of the restored state. */
export function recordAgain(recorded: ReadonlyMap<string, string>, nowMs: number): string {
  const stays = [...recorded].filter(([name]) => !name.startsWith("migration:DB:"));
  return stays.map(([name, value]) => record(name, value, nowMs)).join(";\n");
}

/** The row of the run that changes the deployment (run-lock.ts). */
export const lockRow = "lock";
/** The table with this row before the migrations of a first deployment. */
export const firstRunTable = "first_run";
export const readChoices = "SELECT name, value FROM deployment";

export function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
