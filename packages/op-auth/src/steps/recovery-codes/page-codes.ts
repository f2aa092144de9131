import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import type { User } from "@edge-op/shared/users/user";
import { findCodesSet } from "../../factors/factor-store.ts";
import { pageSecret } from "../../factors/page-secret.ts";
import { makeRecoveryCodes, type RecoveryCodes } from "../../factors/recovery-codes.ts";
import { basisOf } from "../../session/signed-in-person.ts";
import type { Basis } from "../../session/write-as.ts";
import type { StepRequest } from "../../step/step.ts";

export interface PageCodes extends RecoveryCodes {
  readonly user: User;
  readonly basis: Basis;
  readonly setId: string;
  /** The set that they replace. */
  readonly replaced: string;
}

/**
 * **The codes of this page**, until they are stored or the person's codes have changed otherwise: `undefined` then, so that going back does not show stored
 * ones. Cost: 1 D1 call; 1 object call for the session.
 */
export async function pageCodes(at: StepRequest): Promise<PageCodes | undefined> {
  const { context, flow, browser } = at;
  const { newCodes } = flow.marks;
  const person = await at.person();
  if (person === undefined || newCodes === undefined || newCodes.sub !== person.user.sub) return undefined;
  const { user } = person;
  const { sub } = user;
  const { replaced } = newCodes;
  if ((await findCodesSet(context.env.DB, sub)) !== replaced) return undefined;
  const codes = await makeRecoveryCodes(sub, (index) =>
    pageSecret(context.env, browser, { purpose: `recovery code ${index}`, id: flow.fid, of: sub }),
  );
  const setId = encodeBase64Url((await sha256(`recovery codes\n${sub}\n${flow.fid}`)).slice(0, 16));
  return { ...codes, user, basis: basisOf(person), setId, replaced };
}
