import type { CheckResponse } from "./revocation-shard-rpc.ts";
import { cutOffKeys, isCutOff, type RevocationSubject, rowKeys } from "./revocation-subject.ts";

/** The keys of an exact check, of the tokens of all requests that share it. */
export function keysToCheck(subjects: readonly RevocationSubject[]) {
  return { rows: [...new Set(subjects.flatMap(rowKeys))], cutOffs: [...new Set(subjects.flatMap(cutOffKeys))] };
}

/** Evaluates an exact check, which may contain the tokens of other requests too. */
export function isNamed(subject: RevocationSubject, response: CheckResponse): boolean {
  if (response.revoked.length > 0 && rowKeys(subject).some((key) => response.revoked.includes(key))) return true;
  if (response.cutOffs.length === 0) return false;
  const keys = cutOffKeys(subject);
  return response.cutOffs.some((cutOff) => keys.includes(cutOff.key) && isCutOff(subject, cutOff));
}
