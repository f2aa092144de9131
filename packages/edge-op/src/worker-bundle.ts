import type { BuildOptions } from "esbuild";

/** **How a Worker is bundled**, for local runs and deployments alike: for the same runtime as `wrangler deploy` bundles. */
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
