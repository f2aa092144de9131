export interface OwnedPaths {
  /** The binding by which the front door calls the Worker. */
  readonly binding: "TOKEN" | "MANAGEMENT" | "USERINFO" | "AUTH" | "CONSOLE";
  readonly paths: readonly string[];
  /** The path and all paths below it. */
  readonly trees: readonly string[];
}

/**
 * **The paths that each Worker owns.** The front door forwards by this table, and a deployment creates a zone's routes from it. It has its own file,
 * so that the front door bundles nothing else.
 */
export const ownedPaths = {
  "op-token": { binding: "TOKEN", paths: ["/token"], trees: [] },
  "op-management": {
    binding: "MANAGEMENT",
    paths: ["/introspect", "/revoke", "/ready", "/mail/events"],
    trees: ["/admin", "/organizations", "/register", "/scim"],
  },
  "op-userinfo": { binding: "USERINFO", paths: ["/userinfo"], trees: [] },
  "op-auth": {
    binding: "AUTH",
    paths: ["/authorize", "/par", "/device_authorization", "/device", "/invitation"],
    trees: ["/flow", "/account", "/logout", "/assets", "/upstream"],
  },
  "op-console": { binding: "CONSOLE", paths: [], trees: ["/console", "/organization"] },
} as const satisfies Readonly<Record<string, OwnedPaths>>;

export type Owner = OwnedPaths["binding"];
