import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import type * as z from "zod";
import { formatEtag } from "../admin/entity-tags.ts";
import type { userSchema } from "./user-schema.ts";
import type { StoredUser } from "./user-store.ts";

/** **The user resource of the admin API**, without the password. */
export function toResource(user: StoredUser): z.input<typeof userSchema> {
  return {
    sub: user.sub,
    username: user.username,
    status: user.status,
    claims: { ...user.claims },
    roles: [...user.roles],
    groups: [...user.groups],
    has_password: user.hasPassword,
    created_at: toSeconds(user.createdAtMs),
    updated_at: toSeconds(user.updatedAtMs),
  };
}

export function toResponse(user: StoredUser) {
  return { body: toResource(user), headers: { ETag: formatEtag(user.updatedAtMs) } };
}
