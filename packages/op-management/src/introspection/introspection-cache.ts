import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import type { Client } from "@edge-op/shared/clients/client";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { type CacheBindings, readCache, writeCache } from "@edge-op/shared/storage/kv-cache";
import type { IntrospectionResponse } from "./introspection-response.ts";

/**
 * **The optional response cache** (`INTROSPECTION_CACHE=true`): active responses for 60 s in KV, keyed by the hash of caller and
 * token. A token that is revoked meanwhile is inactive all the same. Cost: 1 KV read, and 1
 * write after a miss.
 */
const lifetimeSeconds = 60;

export async function cachedResponse(
  context: RequestContext<CacheBindings>,
  caller: Client,
  token: string,
  describe: () => IntrospectionResponse,
): Promise<IntrospectionResponse> {
  const key = `introspection:${encodeBase64Url(await sha256(`${caller.clientId} ${token}`))}`;
  const cached = await readCache<IntrospectionResponse>(context, key);
  if (cached !== undefined) return cached;
  const response = describe();
  writeCache(context, key, response, lifetimeSeconds);
  return response;
}
