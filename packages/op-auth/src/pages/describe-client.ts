import { clientMark } from "@edge-op/pages/client-mark";
import type { Client } from "@edge-op/shared/clients/client";
import { ownLogoUrl } from "@edge-op/shared/clients/client-logos";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthIsolate } from "../isolate.ts";

/**
 * **A client as the pages of an authorization show it**: its mark, including a copy of its logo if no administrator has registered it. Cost: 0; 1
 * fetch of the client's server if it has such a logo and no copy is held.
 */
export async function describeClient(context: RequestContext<unknown>, isolate: AuthIsolate, client: Client) {
  const mark = clientMark(client);
  const url = ownLogoUrl(client);
  if (url === undefined) return mark;
  const found = await isolate.logos.find(context, url);
  return { ...mark, logoUri: found.kind === "document" ? found.value.dataUrl : undefined };
}
