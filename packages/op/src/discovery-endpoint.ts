import type { Settings } from "@edge-op/shared/config/settings";
import { JsonDocument } from "@edge-op/shared/http/json-document";
import type { JsonResponse } from "@edge-op/shared/http/json-response";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { OwnPathsEnv } from "./front-door-env.ts";
import { providerMetadata } from "./provider-metadata.ts";

/** A deployment has one object of settings. */
const documents = new WeakMap<Settings, JsonDocument>();

/** **Discovery**: a constant of the deployment. Clients may keep it for an hour, and revalidate it by its `ETag`. Cost: 0 calls. */
export async function discoveryEndpoint(
  { settings }: RequestContext<OwnPathsEnv>,
  request: ReceivedRequest,
): Promise<JsonResponse> {
  const known = documents.get(settings);
  if (known !== undefined) return known.respond(request);
  const document = await JsonDocument.create(providerMetadata(settings), "public, max-age=3600");
  documents.set(settings, document);
  return document.respond(request);
}
