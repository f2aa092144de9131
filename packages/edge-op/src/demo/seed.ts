/**
 * **The initial content of a provider**: clients, users, roles and resources, in the format of the admin API. The demo is one seed; `--seed` reads
 * another from a file.
 */
export interface Seed {
  /** By `client_id`. */
  readonly clients: Readonly<Record<string, SeedClient>>;
  /** By user name. */
  readonly users: Readonly<Record<string, SeedUser>>;
  /** Permissions, by role. */
  readonly roles: Readonly<Record<string, readonly string[]>>;
  /** By `resource_id`. */
  readonly resources: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export interface SeedClient {
  /** Metadata of the admin API. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** A secret of your own; the provider generates one by default. */
  readonly client_secret?: string;
  /** The client signs assertions with a key that is generated for it. */
  readonly hasKey?: true;
}

export interface SeedUser {
  readonly password: string;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
}

/** A client as it was registered. */
export interface SeededClient {
  readonly client_id: string;
  /** Empty for a public client. */
  readonly client_secret: string;
  readonly private_jwk?: JsonWebKey;
  readonly scope: string;
  readonly audiences: readonly string[];
  readonly redirect_uris?: readonly string[];
}

export interface SeededUser {
  readonly sub: string;
  readonly username: string;
  readonly password: string;
}
