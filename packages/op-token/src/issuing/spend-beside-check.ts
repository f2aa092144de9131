import type { GrantIdentity } from "@edge-op/shared/grants/grant";
import { grantSubject } from "@edge-op/shared/leases/revocation-subject";
import type { IssueRequest } from "../grant-module.ts";
import { refuseRevokedGrant } from "./refuse-revoked-grant.ts";

/** How a credential that names its grant and user is spent. */
interface Spending {
  readonly grant: Pick<GrantIdentity, "grantId" | "address">;
  readonly sub: string;
  /** The result of a use that changed something. */
  readonly spent: string;
  takeBack(): Promise<void>;
}

/** The object has changed nothing: the use could not be taken back. */
interface UncheckedUse {
  readonly kind: "unchecked_request";
}

/**
 * **Spends a code or refresh token whose grant is checked first, or at the same time** (R6): under a lease the check costs no call, otherwise both
 * calls are made at once, and the use is taken back unless the check passes. The returned function may be called again with another use. Cost: that of
 * `use` under a lease; otherwise 1 object call beside it.
 */
export function spendBesideCheck(
  request: IssueRequest,
  { grant, sub, spent, takeBack }: Spending,
): <Result extends { readonly kind: string }>(
  use: (isUnchecked: boolean) => Promise<Result | UncheckedUse>,
) => Promise<Exclude<Result, UncheckedUse>> {
  const { context, isolate, client } = request;
  const subject = grantSubject(grant, { sub, clientId: client.clientId });
  let isChecked = false;
  const check = async () => {
    await refuseRevokedGrant(request, { grant, sub });
    await request.validateWithProof();
    isChecked = true;
  };
  return async <Result extends { readonly kind: string }>(
    use: (isUnchecked: boolean) => Promise<Result | UncheckedUse>,
  ) => {
    const afterCheck = async () => {
      const result = await use(false);
      if (result.kind === "unchecked_request") throw new Error("a use is undecided although its request was checked");
      return result as Exclude<Result, UncheckedUse>;
    };
    if (!isChecked && isolate.revocation.isCovered(context, subject)) await check();
    if (isChecked) return afterCheck();
    const [ahead, checking] = await Promise.allSettled([use(true), check()]);
    if (checking.status === "rejected") {
      // A request that is not granted changes nothing: a later retry must not look like theft.
      if (ahead.status === "rejected" || ahead.value.kind === spent) await takeBack();
      throw checking.reason;
    }
    if (ahead.status === "rejected") throw ahead.reason;
    return ahead.value.kind === "unchecked_request" ? afterCheck() : (ahead.value as Exclude<Result, UncheckedUse>);
  };
}
