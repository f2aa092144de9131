/** Node serves no module by itself, unlike Deno and Bun. */
import { serve } from "@hono/node-server";
import notes from "./notes.js";

serve({ fetch: (request) => notes.fetch(request), port: Number(process.env.PORT), hostname: "127.0.0.1" });
