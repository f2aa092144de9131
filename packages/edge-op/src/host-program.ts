import { join } from "node:path";
import { demoSeed } from "./demo/seed-demo.ts";
import { serveHost } from "./host/serve-host.ts";
import { packedBuilds } from "./packed-builds.ts";

/** **The program of the host** in the published package: `node host-program.js <socket>`. */
await serveHost(packedBuilds(join(import.meta.dirname, "workers")), process.argv[2]!, () =>
  demoSeed("http://localhost:8788"),
);
