/**
 * **Administrative changes and the copies that they invalidate.** Each change (client, user, roles, resource, issuer, document hosts, keys,
 * generations) is a row of D1's `control_changes`. Its number is the control version `cv`, which every response of a revocation shard contains, with
 * the rows in between. The isolate deletes the copies that they name before it continues. If the shard no longer knows all of them, the isolate reads
 * D1.
 *
 * A row of kind "cut-off" orders a cut-off among the changes (ADR 28); the records that contain the cut-off change with it (ADR 28).
 *
 * A change is committed to D1 before its `cv` is raised anywhere, so a record read at cv = n includes changes 1…n; cached records carry that `cv`. A
 * missing row number (old rows are deleted; a restored D1 leaves a gap, ADR 11) discards every copy.
 */

export type ControlKind =
  | "client"
  | "user"
  | "rbac"
  | "resource"
  | "issuer"
  | "document-hosts"
  | "keys"
  | "generations"
  | "cut-off";

/** The id of a change that affects every record of its kind (a role's permissions, a group's roles). */
export const everyId = "*";

/** **The control version that an isolate knows**, as caches of records use it: its changes invalidate copies (control/control-view.ts). */
export interface RecordVersions {
  /** `undefined` before the first response of a revocation shard. */
  readonly version: number | undefined;
  /** Registers a cache: `forget(id)` deletes one record, `forget(undefined)` all of them. */
  onChange(kind: ControlKind, forget: (id: string | undefined) => void): void;
  /** Whether no change after `stamp` names the record. `stamp` is the version that was known before the record was read. */
  isCurrent(kind: ControlKind, id: string, stamp: number | undefined): boolean;
}
