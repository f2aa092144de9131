import { join } from "node:path";
import { demoSeed } from "../src/demo/seed-demo.ts";
import { packedBuilds } from "../src/packed-builds.ts";
import { useRuntime } from "../src/runtime.ts";

/** **The program of the host** in the published package: `node host-program.js <socket>`. */
useRuntime(join(import.meta.dirname, ".."));
// Its modules import the runtime.
const { serveHost } = await import("./host/serve-host.ts");
await serveHost(packedBuilds(join(import.meta.dirname, "workers")), process.argv[2]!, () =>
  demoSeed("http://localhost:8788"),
);
