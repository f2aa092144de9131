/**
 * **Which Worker owns which path.** The front door forwards by it, and a deployment makes the routes of a zone of it. A file of its own: the
 * front door bundles it alone.
 */
export interface OwnedPaths {
  /** The binding by which the front door calls the Worker. */
  readonly binding: "TOKEN" | "MANAGEMENT" | "USERINFO" | "AUTH";
  readonly paths: readonly string[];
  /** The path and all paths below it. */
  readonly trees: readonly string[];
}

export const ownedPaths = {
  "op-token": { binding: "TOKEN", paths: ["/token"], trees: [] },
  "op-management": {
    binding: "MANAGEMENT",
    paths: ["/introspect", "/revoke", "/ready"],
    trees: ["/admin", "/register"],
  },
  "op-userinfo": { binding: "USERINFO", paths: ["/userinfo"], trees: [] },
  "op-auth": {
    binding: "AUTH",
    paths: ["/authorize", "/par", "/device_authorization", "/device"],
    trees: ["/interaction", "/account", "/logout", "/assets"],
  },
} as const satisfies Readonly<Record<string, OwnedPaths>>;

export type Owner = OwnedPaths["binding"];
