import type { Application } from "./applications.ts";

/** **The examples of resource servers**: the demo runs them beside the provider. */
export const exampleApplications = {
  mcp: { config: "examples/mcp-server/wrangler.toml", entry: "examples/mcp-server/src/index.ts", path: "/mcp" },
  api: { config: "examples/api/wrangler.toml", entry: "examples/api/src/index.ts", path: "/" },
} as const satisfies Record<string, Application>;
