import { acrValuesOf, passkeyMethods } from "@edge-op/protocol/oauth/authentication-context";
import { listPasskeys, type Passkey } from "@edge-op/shared/users/credentials";
import type { PublicKeyCredentialRequestOptionsJSON } from "@simplewebauthn/server";
import { HiddenFields } from "../pages/form-parts.tsx";
import type { SignInMethod, SignInMethodView } from "../step/sign-in-method.ts";
import type { StepRequest } from "../step/step.ts";
import { challengeOf, describeCredentials, relyingParty } from "./passkey-ceremony.ts";
import { NoPasskeys, PasskeySignal } from "./passkey-parts.tsx";
import { passkeyScript } from "./passkey-script.ts";
import { verifyPasskeySignIn } from "./verify-passkey-sign-in.ts";

/**
 * **Sign-in by passkey**: a button, shown by the script if the browser supports passkeys. A known account is offered its own passkeys,
 * and no button if it has none. Cost of the page: 1 D1 call for a known account, else 0.
 */
export const passkeyMethod: SignInMethod = {
  name: "passkey",
  proofMethods: passkeyMethods,
  acrValues: passkeyMethods.flatMap(acrValuesOf),
  field: "credential",
  scripts: [passkeyScript],
  placement: "button",
  render: async (at, view) => {
    const passkeys = view.account && (await listPasskeys(at.context.env.DB, view.account.sub));
    if (passkeys?.length === 0) return undefined;
    const { problem } = at.flow;
    const credentialId = problem?.kind === "refused" ? problem.unknownCredential : undefined;
    const unknown = credentialId && { rpId: relyingParty(at.context).id, credentialId };
    return (
      <>
        {unknown && <PasskeySignal signal={{ unknown }} />}
        <PasskeyButton view={view} options={await passkeySignInOptions(at, passkeys)} />
      </>
    );
  },
  verify: verifyPasskeySignIn,
};

/** WebAuthn request options, JSON: with user verification, for any discoverable passkey of this origin or one of `allowed`. */
async function passkeySignInOptions({ context, flow }: StepRequest, allowed: readonly Passkey[] = []): Promise<string> {
  const options: PublicKeyCredentialRequestOptionsJSON = {
    challenge: await challengeOf(context, "get", flow.fid),
    rpId: relyingParty(context).id,
    userVerification: "required",
    allowCredentials: describeCredentials(allowed),
  };
  return JSON.stringify(options);
}

function PasskeyButton({ view, options }: { readonly view: SignInMethodView; readonly options: string }) {
  const { t } = view;
  return (
    <>
      {!view.isAlternative && <NoPasskeys t={t} />}
      <form method="post" action={view.form.action} data-passkey="get" data-options={options} hidden>
        <HiddenFields fields={view.form.fields} />
        <input type="hidden" name="credential" value="" />
        <button type="submit" class={view.isAlternative ? "quiet" : ""} id="passkey">
          {t("passkey.submit")}
        </button>
      </form>
    </>
  );
}
