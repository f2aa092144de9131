import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import type { User } from "@edge-op/shared/users/user";
import { byAddress, byTemporaryPassword, findWithUser, type RecoveringAccount } from "../addresses/find-by-address.ts";
import type { PageRequest } from "../pages/frame.ts";
import { findSignedInUser } from "../session/signed-in-person.ts";
import type { Flow } from "../step/flow.ts";
import { recoveryProof } from "../step/second-factor.ts";

/**
 * **The person who may set a new password**: by the proof of a mailbox that is still theirs, or by a temporary password that has not ended, without
 * any change since that ends what rests on it (ADR 28). Cost: 1 D1 call.
 */
export async function findRecovering(at: PageRequest & { readonly flow: Flow }): Promise<Recovering | undefined> {
  const proof = recoveryProof(at.flow);
  const found = proof && (await findRecoverable(at, proof, at.flow.fid));
  return found && { ...found, proof };
}

interface Recoverable extends Pick<RecoveringAccount, "factors" | "temporaryHash"> {
  readonly user: User;
}

interface Recovering extends Recoverable {
  readonly proof: Proof;
}

/** The account of such a proof, and its factors, if the proof still stands. */
export async function findRecoverable(
  { context, isolate }: PageRequest,
  { method, sub, credential, controlVersion }: Pick<Proof, "method" | "sub" | "credential" | "controlVersion">,
  sid: string,
): Promise<Recoverable | undefined> {
  const { DB } = context.env;
  const select =
    method === "temporaryPassword"
      ? byTemporaryPassword(DB, sub, context.arrivedAtMs)
      : byAddress(DB, credential ?? "");
  // Where no isolate has read the account, its record would be two more calls.
  const reading = findWithUser(DB, select, sub);
  const user = await findSignedInUser(
    context,
    isolate,
    controlVersion,
    { sub, sid },
    { mayLeave: true, reading: reading.then((found) => found.user) },
  );
  const { account } = await reading;
  return user === undefined || account?.sub !== sub ? undefined : { ...account, user };
}
