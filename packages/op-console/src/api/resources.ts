/** **Responses of the admin API that pages read.** The members are those of the records; a page shows what is there. */

import type { ClientMetadata } from "@edge-op/shared/clients/client";
import type { UserClaims } from "@edge-op/shared/users/user";

export interface Paged {
  readonly next_cursor?: string;
}

export interface ClientResource extends Partial<ClientMetadata> {
  readonly client_id: string;
  readonly status: "active" | "disabled";
  readonly client_id_issued_at?: number;
  readonly updated_at?: number;
}

export interface SecretResource {
  readonly secret_id: string;
  readonly created_at: number;
  readonly client_secret_expires_at: number;
}

export interface UserResource {
  readonly sub: string;
  readonly username: string;
  readonly status: string;
  readonly claims: UserClaims;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  readonly has_password?: boolean;
  readonly created_at?: number;
  readonly terms?: { readonly version: string; readonly accepted_at: number };
}

export interface KeyResource {
  readonly kid: string;
  readonly alg: string;
  readonly state: string;
  readonly publish_at: number;
  readonly sign_from: number;
  readonly sign_until: number;
  readonly retire_at: number;
}

export interface DeploymentReport {
  readonly worker: { readonly version: string; readonly keys: Readonly<Record<string, string>> };
  readonly objects: readonly { readonly name: string; readonly version: string; readonly bytes: number }[];
  readonly unreachable: readonly string[];
  readonly settings: Readonly<Record<string, string | null>>;
  readonly not_called: number;
}
