import { keyAlgorithms } from "@edge-op/protocol/jwt/key-algorithms";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import type { JsonResponse } from "@edge-op/shared/http/json-response";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { log } from "@edge-op/shared/runtime/log";
import type { FrontDoorIsolate, OwnPathsEnv } from "./isolate.ts";
import type { PublishedKeys } from "./published-keys.ts";

/**
 * **`GET /jwks`**: the announced, active and retiring keys, so that a relying party knows a key before its first signature and until its last one has
 * expired; and only the active encryption keys (ADR 40). Relying parties may cache them for the time that K1 includes; a revoked key is missing from
 * the next response. Cost warm: 0 calls under a lease, else 1 object call that confirms that no key was revoked.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7517#section-5
 */
export async function jwksEndpoint(
  context: RequestContext<OwnPathsEnv>,
  isolate: FrontDoorIsolate,
  published: PublishedKeys,
  request: ReceivedRequest,
): Promise<JsonResponse> {
  if (!isolate.revocation.isControlConfirmed(context)) await confirmKeys(context, isolate);
  // The metadata names every algorithm, so each of them has a key as soon as somebody reads the key set.
  const schedule = await isolate.schedule.currentWith(context, keyAlgorithms);
  const document = await published.at(schedule, context.arrivedAtMs);
  return document.respond(request);
}

/** Relying parties need keys even if the newest change is unknown: if no shard responds, the copy is served. */
async function confirmKeys(context: RequestContext<OwnPathsEnv>, isolate: FrontDoorIsolate): Promise<void> {
  try {
    await isolate.revocation.confirmControl(context);
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    log("jwks-unconfirmed", { store: error.store, requestId: context.requestId });
  }
}
