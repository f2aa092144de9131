/**
 * **The format of a backup of D1 in R2**: objects `backup/{begun}/{table}/{part}`, and `backup/{begun}/manifest` when all are written. Each is
 * iv ‖ AES-256-GCM(gzip(JSON)) under the key `backup-seal` of the master key, bound to its own key. A part is a list of rows, each a list of the
 * columns that the manifest names; a BLOB is a list of bytes.
 */

import { encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { isNumber, isText, listOf, objectOf } from "@edge-op/protocol/encoding/stored-json";
import { deriveKey, type MasterKeyBindings } from "../secrets/master-key.ts";
import { openWithEither, sealBytes } from "../secrets/seal.ts";
import { gunzip, gzip } from "./gzip.ts";

export interface BackedUpTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** In the order of the key. */
  readonly key: readonly string[];
  readonly references: readonly { readonly column: string; readonly table: string; readonly key: string }[];
  readonly parts: number;
  readonly rows: number;
}

export interface BackupManifest {
  readonly format: 1;
  readonly begun: string;
  readonly finished: string;
  /** In the order in which they were read, which is one in which they can be written. */
  readonly tables: readonly BackedUpTable[];
}

export type BackedUpValue = string | number | null | readonly number[];
export type BackedUpRow = readonly BackedUpValue[];

const areTexts = listOf(isText);

export const areBackedUpTables = listOf(
  objectOf<BackedUpTable>({
    name: isText,
    columns: areTexts,
    key: areTexts,
    references: listOf(objectOf({ column: isText, table: isText, key: isText })),
    parts: isNumber,
    rows: isNumber,
  }),
);

export const isBackupManifest = objectOf<BackupManifest>({
  format: (value): value is 1 => value === 1,
  begun: isText,
  finished: isText,
  tables: areBackedUpTables,
});

const areBytes = listOf(isNumber);

/** The rows of a part. */
export const areBackedUpRows = listOf(
  listOf<BackedUpValue>(
    (value): value is BackedUpValue => value === null || isText(value) || isNumber(value) || areBytes(value),
  ),
);

export function partKey(begun: string, table: string, part: number): string {
  return `backup/${begun}/${table}/${String(part).padStart(6, "0")}`;
}

export function manifestKey(begun: string): string {
  return `backup/${begun}/manifest`;
}

export async function sealBackup(env: MasterKeyBindings, objectKey: string, content: unknown): Promise<Uint8Array> {
  const packed = await gzip(JSON.stringify(content));
  return sealBytes(await deriveKey(env, "backup-seal"), packed, encodeUtf8(objectKey));
}

/** `undefined` if neither key of `env` has sealed it for this object key. */
export async function openBackup(
  env: MasterKeyBindings,
  objectKey: string,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<unknown> {
  const packed = await openWithEither(env, "backup-seal", bytes, encodeUtf8(objectKey));
  if (packed === undefined) return undefined;
  return JSON.parse(await gunzip(packed)) as unknown;
}
