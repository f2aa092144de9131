import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { isNumber, isText, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import type { WaitingDevice } from "@edge-op/shared/codes/device-code-rpc";
import type { Place } from "@edge-op/shared/http/asker";
import { log } from "@edge-op/shared/runtime/log";
import { laneOf } from "@edge-op/shared/sessions/attempts";
import type { AuthorizationRequest, CodeRequest } from "../authorization/authorization-request.ts";
import type { PageRequest } from "../pages/frame.ts";
import { addressBuckets } from "../session/sign-in-limits.ts";

/** The request of a device and what the person is shown of it; stored as JSON with the device code. */
export interface DeviceAuthorization
  extends Pick<
    AuthorizationRequest,
    "scope" | "resources" | "authorizationDetails" | "maxAgeSeconds" | "preferredAcr" | "claims" | "requiredAcr"
  > {
  readonly dpopThumbprint: CodeRequest["dpopThumbprint"];
  readonly requestedAtMs: number;
  /** The device's location, estimated from its network address, so that a person notices a request from elsewhere. */
  readonly place: Place;
}

/** The other members may be absent: `undefined` is not stored. */
const isDeviceAuthorization = objectOf<Pick<DeviceAuthorization, "scope" | "resources" | "requestedAtMs" | "place">>({
  scope: listOf(isText),
  resources: listOf(isText),
  requestedAtMs: isNumber,
  place: isJsonObject,
});

export function readDeviceAuthorization({ request }: Pick<WaitingDevice, "request">): DeviceAuthorization {
  const absent = { authorizationDetails: undefined, maxAgeSeconds: undefined, preferredAcr: undefined };
  const others = { claims: undefined, requiredAcr: undefined, dpopThumbprint: undefined };
  return { ...absent, ...others, ...readStored("device request", request, isDeviceAuthorization) };
}

/** About 3,000 guesses a day per account, among 25 × 10⁹ codes. */
const guessLanes = laneOf({ capacity: 10, drainMs: 30_000 });

export type FoundDevice =
  | { readonly kind: "waiting"; readonly device: WaitingDevice }
  | { readonly kind: "unknown" }
  | { readonly kind: "throttled"; readonly seconds: number };

/**
 * **The device that waits with a user code**, for a signed-in person. Each attempt is counted before the code is looked up, in the bucket of the
 * account and that of the address, and refunded if the code is correct, so that codes cannot be guessed (RFC 8628 §5.1). Cost: 3 object calls, 2 more
 * for a correct code; without a known address 2, and 1 more.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8628#section-5.1
 */
export async function findWaitingDevice(
  { context, isolate, request }: PageRequest,
  sub: string,
  code: string,
): Promise<FoundDevice> {
  const { attempts } = isolate;
  const buckets = [
    { name: "account", subject: `user code ${sub}`, lanes: guessLanes },
    ...addressBuckets(context, request, "user code"),
  ];
  const { requestId } = context;
  const results = await Promise.all(
    buckets.map(async ({ name, subject, lanes }) => {
      const result = await attempts.reserve(context, subject, lanes);
      if (result.kind === "refused") {
        log("user-code-refused", { sub, reason: `too many attempts: ${name}`, requestId });
        return { waitMs: result.retryAfterMs, refund: async () => {} };
      }
      return { waitMs: 0, refund: () => attempts.refund(context, subject, result.lane) };
    }),
  );
  const waitMs = Math.max(...results.map((result) => result.waitMs));
  if (waitMs > 0) return { kind: "throttled", seconds: Math.ceil(waitMs / 1000) };
  const device = await isolate.deviceCodes.find(context, code);
  if (device === undefined) {
    log("user-code-refused", { sub, reason: "no device waits with this code", requestId });
    return { kind: "unknown" };
  }
  await Promise.all(results.map(({ refund }) => refund()));
  return { kind: "waiting", device };
}
