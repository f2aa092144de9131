import type { Passkey } from "@edge-op/shared/users/credentials";
import type { ListedFactor } from "@edge-op/shared/users/factors";
import type { AuthPageFrame } from "../pages/frame.ts";

interface WaysIn {
  readonly hasPassword: boolean;
  readonly passkeys: readonly Pick<Passkey, "credentialId">[];
  readonly identities: readonly unknown[];
  readonly factors: readonly Pick<ListedFactor, "kind" | "remaining">[];
  /** The person can prove a mailbox, beside which recovery codes let them back in. */
  readonly isMailable: boolean;
}

/** What is missing for a person who has one way in, and loses it: `undefined` if there is another. Pure. */
export function onlyWayIn({ hasPassword, passkeys, identities, factors }: WaysIn): "passkey" | "provider" | undefined {
  const hasCodes = factors.some(({ kind, remaining = 0 }) => kind === "recovery_codes" && remaining > 0);
  if (hasPassword || hasCodes || passkeys.length + identities.length !== 1) return undefined;
  return passkeys.length === 1 ? "passkey" : "provider";
}

/** **The note for a person who would be locked out by one loss**, with what helps. */
export function OnlyWayIn({ frame, ways }: { readonly frame: AuthPageFrame; readonly ways: WaysIn }) {
  const only = onlyWayIn(ways);
  if (only === undefined) return null;
  const { t } = frame;
  const canUseCodes = only === "passkey" && ways.isMailable;
  return (
    <p class="note" id="only-way-in">
      {t(only === "passkey" ? "factor.onlyOnePasskey" : "factor.onlyOneProvider")}{" "}
      {canUseCodes ? (
        <a href="/account/recovery-codes">{t("factor.makeCodes")}</a>
      ) : (
        <a href="#add-passkey">{t("factor.addAnotherPasskey")}</a>
      )}
    </p>
  );
}
