import { readAhead } from "@edge-op/shared/callers/read-ahead";
import { type ReadsBegun, readsBegun } from "@edge-op/shared/control/settle";
import type { Form } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../../auth-env.ts";
import type { AuthIsolate } from "../../isolate.ts";

interface NamingRequest {
  readonly context: RequestContext<AuthEnv>;
  readonly isolate: AuthIsolate;
  readonly request: ReceivedRequest;
}

/**
 * **Reads ahead what the text of an authorization request names**, in a cold isolate: its client and resources, and the key schedule if the request
 * contains a token of this provider or asks for a signed response. Nothing has verified it (callers/read-ahead.ts). The page that usually follows shows
 * the upstream providers.
 */
export function readRequestAhead(
  { context, isolate, request }: NamingRequest,
  parameters: Form,
  clientId = () => parameters.get("client_id"),
): ReadsBegun {
  if (isolate.control.version !== undefined) return readsBegun;
  void isolate.upstreams.readAhead(context);
  const { keyRing, ...withoutKeys } = isolate;
  const needsKeys = ["id_token_hint", "request"].some((name) => parameters.get(name) !== undefined);
  const isSigned = parameters.get("response_mode")?.endsWith("jwt") === true;
  const names = () => [{ clientIds: [clientId()], resources: parameters.all("resource") }];
  return readAhead(context, needsKeys || isSigned ? isolate : withoutKeys, request, names);
}
