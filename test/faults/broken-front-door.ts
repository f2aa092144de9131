/**
 * **A front door that breaks one guarantee at a time**: an entry point that shows that the soak detects the defect. Production code has no switch for
 * it. `PUT /broken` with the name of a defect replaces the current one; "" is none.
 */

import frontDoor from "../../packages/op/src/index.ts";
import type { FrontDoorEnv } from "../../packages/workers/src/env.ts";

export const defects = [
  /** Repeats the first response to an introspection forever. */
  "stale introspection",
  /** The same, but only for requests whose body arrived long after the headers. */
  "decides at the headers",
  "stale userinfo",
  "accepts old secrets",
  "accepts used refresh tokens",
  /** Responds before the sign-out is complete. */
  "signs out later",
  "unavailable at times",
  "refuses at times",
] as const;
export type Defect = (typeof defects)[number];

let defect: Defect | "" = "";
/** Successful response bodies, by request. */
const remembered = new Map<string, string>();
const slowMs = 300;
const oneIn = 10;
const laterMs = 1_000;
let requests = 0;

const json = { headers: { "content-type": "application/json" } };

export default {
  async fetch(request, env, execution): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/broken") {
      defect = (await request.text()) as Defect | "";
      remembered.clear();
      return new Response(null, { status: 204 });
    }
    const arrivedAtMs = Date.now();
    const body = ["GET", "HEAD"].includes(request.method) ? null : await request.text();
    if (defect === "signs out later" && pathname === "/logout") {
      execution.waitUntil(scheduler.wait(laterMs).then(() => frontDoor.fetch(request, env, execution)));
      return new Response("You are signed out.");
    }
    const isSlow = Date.now() - arrivedAtMs >= slowMs;
    const response = await frontDoor.fetch(new Request(request, { body }), env, execution);
    requests += 1;
    if (requests % oneIn === 0 && pathname === "/introspect") {
      if (defect === "unavailable at times") return new Response(null, { status: 503 });
      if (defect === "refuses at times") return Response.json({ active: false });
    }
    if (!remembers(pathname, body ?? "")) return response;
    const isFromMemory = isSlow || defect !== "decides at the headers";
    return respondFromMemory(`${request.headers.get("authorization")} ${pathname} ${body}`, response, isFromMemory);
  },
} satisfies ExportedHandler<FrontDoorEnv>;

function remembers(pathname: string, body: string): boolean {
  switch (defect) {
    case "stale introspection":
    case "decides at the headers":
      return pathname === "/introspect";
    case "stale userinfo":
      return pathname === "/userinfo";
    case "accepts old secrets":
      return pathname === "/token" && body.includes("client_credentials");
    case "accepts used refresh tokens":
      return pathname === "/token" && body.includes("refresh_token");
    default:
      return false;
  }
}

async function respondFromMemory(key: string, response: Response, isWanted: boolean): Promise<Response> {
  const known = remembered.get(key);
  if (known !== undefined && isWanted) return new Response(known, json);
  const text = await response.clone().text();
  if (response.status === 200 && text !== '{"active":false}') remembered.set(key, text);
  return response;
}
