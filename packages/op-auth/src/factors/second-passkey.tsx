import { passkeyMethods } from "@edge-op/protocol/oauth/authentication-context";
import { describeDevice } from "@edge-op/shared/http/asker";
import { listPasskeys } from "@edge-op/shared/users/credentials";
import type { User } from "@edge-op/shared/users/user";
import { HiddenFields } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import { basisOf } from "../session/signed-in-person.ts";
import { freshMs } from "../step/second-factor.ts";
import type { StepPageRequest, StepRequest } from "../step/step.ts";
import { passkeyRegistrationOptions, registerPasskey } from "./register-passkey.ts";

/** Another ceremony than that of a passkey that was created in the same flow. */
function ceremonyOf({ flow }: Pick<StepRequest, "flow">): string {
  return `${flow.fid} second`;
}

/** **The form that adds another passkey in a flow**, of a person who has one. Hidden without its script. Cost: 1 D1 call. */
export async function secondPasskeyForm(at: StepPageRequest, user: User, { t }: AuthPageFrame) {
  const { context, form } = at;
  const registered = await listPasskeys(context.env.DB, user.sub);
  const options = await passkeyRegistrationOptions(context, user, registered, ceremonyOf(at));
  return (
    <form method="post" action={form.action} data-passkey="create" data-options={options} hidden>
      <HiddenFields fields={form.fields} />
      <input type="hidden" name="credential" value="" />
      <button type="submit" class="quiet" id="second-passkey">
        {t("factor.secondPasskey")}
      </button>
    </form>
  );
}

/** **Adds the passkey, soon after a sign-in by passkey**, the level of the account. Cost: 1 D1 call, 1 object call, and tell-person.ts. */
export async function addSecondPasskey(at: StepRequest, response: string): Promise<boolean> {
  const { context, request } = at;
  const person = await at.person();
  const isFresh = person?.session.proofs.some(
    ({ method, atMs }) => passkeyMethods.includes(method) && context.arrivedAtMs - atMs <= freshMs,
  );
  if (person === undefined || isFresh !== true) return false;
  const device = describeDevice(request.headers.get("user-agent"));
  const taken = (await listPasskeys(context.env.DB, person.user.sub)).map(({ name }) => name);
  const name = taken.includes(device) ? `${device} (${taken.length + 1})` : device;
  return registerPasskey(context, person.user, basisOf(person), { ceremonyId: ceremonyOf(at), response, name });
}
