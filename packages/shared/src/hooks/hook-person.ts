import type { HookClient, HookUser } from "@edge-op/hooks";
import type { Client } from "../clients/client.ts";
import type { RbacClaims, User } from "../users/user.ts";

/** **A person as a hook sees them**: copies without what only this provider needs. */
export function hookUserOf({ sub, username, claims, attributes = {} }: User, { roles, groups }: RbacClaims): HookUser {
  return { sub, username, claims, attributes, roles, groups };
}

export function hookClientOf({ clientId, metadata }: Client): HookClient {
  const { client_name: name } = metadata;
  return { client_id: clientId, ...(name === undefined ? {} : { client_name: name }) };
}
