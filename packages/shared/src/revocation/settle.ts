import type { ControlView } from "../cache/control-view.ts";
import type { RequestContext } from "../http/request-context.ts";
import { OAuthError, UnavailableError } from "../oauth/errors.ts";
import type { RevocationBindings, RevocationView } from "./revocation-view.ts";

/** The control version moved while a decision was being made: make it again. Never leaves {@link settle}. */
class Restart extends Error {
  override readonly name = "Restart";
}

/** A version moves when an administrator changes something: three times in one request is a store at fault. */
const attempts = 3;

/**
 * **Makes an endpoint's decision at one control version, no older than the request's arrival**, so that a disabled client,
 * a rotated secret or a revoked key is refused as soon as the admin call has answered (protocols.md §2, "Control version").
 *
 * The version is confirmed before any answer, a refusal included. `decide` calls `confirm` right before it spends anything
 * (rotation, code, assertion): what is spent was decided in time, and the decision stands. Cost: see `confirmControl`.
 */
export async function settle<T>(
  context: RequestContext<RevocationBindings>,
  { control, revocation }: { readonly control: ControlView; readonly revocation: RevocationView },
  decide: (confirm: () => Promise<void>) => Promise<T>,
): Promise<T> {
  // A cold isolate has no version to decide at.
  if (control.version === undefined) await revocation.confirmControl(context);
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const version = control.version;
    let isConfirmed = false;
    const confirm = async () => {
      await revocation.confirmControl(context);
      if (control.version !== version) throw new Restart();
      isConfirmed = true;
    };
    const outcome = await decide(confirm).then(
      (value) => () => value,
      (error: unknown) => {
        if (!(error instanceof OAuthError) && !(error instanceof Restart)) throw error;
        return error instanceof Restart ? undefined : () => raise(error);
      },
    );
    if (outcome === undefined) continue;
    // Later changes are concurrent with this request; running again what has been spent would refuse it to its owner.
    if (isConfirmed) return outcome();
    await revocation.confirmControl(context);
    if (control.version === version) return outcome();
  }
  throw new UnavailableError("control version", new Error(`moved ${attempts} times during one request`));
}

function raise(error: OAuthError): never {
  throw error;
}
