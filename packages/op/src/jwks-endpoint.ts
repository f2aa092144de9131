import type { RequestContext } from "@edge-op/shared/http/request-context";
import { keyTiming } from "@edge-op/shared/keys/key-timing";
import { UnavailableError } from "@edge-op/shared/oauth/errors";
import { isVerifying } from "@edge-op/shared/objects/key-schedule";
import { log } from "@edge-op/shared/runtime/log";
import type { FrontDoorEnv } from "./front-door-env.ts";
import type { FrontDoorIsolate } from "./isolate.ts";

/**
 * **The public keys**: announced, active and retiring ones, so a relying party knows a key before anything is signed by it
 * and as long as something is. It may keep them for what K1 allows for; a revoked key is gone with the next request.
 * Cost warm: 0 calls under a lease, else 1 object call that confirms that no key was revoked.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7517#section-5
 */
export async function jwksEndpoint(
  context: RequestContext<FrontDoorEnv>,
  isolate: FrontDoorIsolate,
): Promise<Response> {
  await confirmKeys(context, isolate);
  const { keys } = await isolate.schedule.current(context);
  const published = keys.filter((key) => isVerifying(key, context.arrivedAtMs)).map(({ publicJwk }) => publicJwk);
  return Response.json(
    { keys: published },
    { headers: { "Cache-Control": `public, max-age=${keyTiming.jwksMaxAgeSeconds}` } },
  );
}

/** Relying parties need keys more than they need the newest news: without an answer what is held is served. */
async function confirmKeys(context: RequestContext<FrontDoorEnv>, isolate: FrontDoorIsolate): Promise<void> {
  try {
    await isolate.revocation.confirmControl(context);
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    log("jwks-unconfirmed", { store: error.store, requestId: context.requestId });
  }
}
