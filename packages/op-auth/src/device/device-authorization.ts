import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { isNumber, isText, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import type { WaitingDevice } from "@edge-op/shared/codes/device-code-rpc";
import type { Place } from "@edge-op/shared/sessions/user-sessions";
import type { AuthorizationRequest, CodeRequest } from "../authorization/authorization-request.ts";

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
