import { displayName } from "@edge-op/pages/person";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { Passkey } from "@edge-op/shared/users/credentials";
import type { User } from "@edge-op/shared/users/user";
import type { AuthTranslator } from "../pages/messages.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { relyingParty, userHandle } from "./passkey-ceremony.ts";

/** **Why a passkey was not used or created**, which the script of the page shows: its person closed the dialogue, or something failed. */
export function PasskeyFailure(props: {
  readonly t: AuthTranslator;
  readonly text: string;
  readonly kind?: "notUsed" | "notCreated";
  /** The server has refused the passkey. */
  readonly isRefused?: boolean;
}) {
  const cancelled = props.t(`passkey.${props.kind ?? "notUsed"}`);
  return (
    <p class="note bad" role="alert" data-passkey-failure={cancelled} hidden={props.isRefused !== true}>
      {props.text}
    </p>
  );
}

/** **Why a page offers no passkey**, in a browser without WebAuthn: the script shows it in place of the button. */
export function NoPasskeys({ t }: { readonly t: AuthTranslator }) {
  return (
    <p class="muted small" data-no-passkeys hidden>
      {t("passkey.unsupported")}
    </p>
  );
}

/** A signal of a page to the browser's authenticators, in the names of WebAuthn Level 3 §5.1.10. */
export interface Signal {
  /** All passkeys of a person: others of theirs are forgotten. */
  readonly accepted?: { rpId: string; userId: string; allAcceptedCredentialIds: readonly string[] };
  readonly details?: { rpId: string; userId: string; name: string; displayName: string };
  /** A passkey that nobody has here. Never one that was refused for another reason. */
  readonly unknown?: { rpId: string; credentialId: string };
}

/** **A signal for authenticators**, which the script of the page sends; without it, or in a browser that does not know it, nothing happens. */
export function PasskeySignal({ signal }: { readonly signal: Signal }) {
  return <span hidden data-passkey-signal={JSON.stringify(signal)} />;
}

/** The passkeys and names of a signed-in person: authenticators forget removed passkeys, and show the present name. */
export async function personSignal(
  context: RequestContext<AuthEnv>,
  user: Pick<User, "sub" | "username" | "claims">,
  passkeys: readonly Passkey[],
): Promise<Signal> {
  const party = { rpId: relyingParty(context).id, userId: await userHandle(user.sub) };
  return {
    accepted: { ...party, allAcceptedCredentialIds: passkeys.map(({ credentialId }) => credentialId) },
    details: { ...party, name: user.username, displayName: displayName(user) },
  };
}
