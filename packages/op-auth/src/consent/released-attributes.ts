import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { MappedAttribute } from "@edge-op/shared/users/attributes";
import type { User } from "@edge-op/shared/users/user";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthIsolate } from "../isolate.ts";
import { isProviderScope } from "../pages/allowances.ts";

/**
 * **The attributes that may be released to a client**, in whose words its requested access is shown. Cost warm: 0. They are not read for a person without
 * attributes, unless a value is requested that has no words here.
 */
export async function releasedAttributes(
  { context, isolate }: { readonly context: RequestContext<AuthEnv>; readonly isolate: AuthIsolate },
  clientId: string,
  asked: readonly string[],
  { attributes }: Pick<User, "attributes">,
): Promise<readonly MappedAttribute[]> {
  const isDescribed = (item: string) => isProviderScope(item) || item.startsWith("resource:");
  if (attributes === undefined && asked.every(isDescribed)) return [];
  const mapping = await isolate.users.findMapping(context);
  return mapping.attributes.filter(({ claim }) => claim.clients?.includes(clientId) !== false);
}
