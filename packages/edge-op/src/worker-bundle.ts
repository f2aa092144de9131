import type { BuildOptions } from "esbuild";

/** **How a Worker is bundled**: as `wrangler deploy` does. test/topology compares the two, so that local runs and deployments have the same code. */
export const workerBundle = {
  bundle: true,
  format: "esm",
  target: "es2024",
  supported: { using: true },
  conditions: ["workerd", "worker", "browser"],
  platform: "browser",
  external: ["cloudflare:*", "node:*"],
  define: {
    "process.env.NODE_ENV": '"production"',
    "navigator.userAgent": '"Cloudflare-Workers"',
  },
  sourcemap: "inline",
  sourcesContent: false,
} satisfies BuildOptions;
