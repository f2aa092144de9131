import { join } from "node:path";
import { type StartedProvider, startProvider } from "../lib/start-provider.ts";
import { expectStatus, formatRequest, type Target } from "./connection.ts";

/** **The floors**: the work of an endpoint's warm request besides a constant response of the same size. */
export const floorWorks = {
  nothing: "none",
  document: "document",
  "GET of nothing": "get",
  signature: "sign ES256",
  "write and signature": "write + sign ES256",
  "write and 2 signatures": "write + sign ES256 + sign ES256",
  "write, signature and RSA signature": "write + sign ES256 + sign RS256",
} as const;

export type Needs = keyof typeof floorWorks;

/** Starts the minimal Worker and its objects in place of op-token and op-state. */
export function startFloors(): Promise<StartedProvider> {
  const at = (file: string) => join(import.meta.dirname, "floor", file);
  const entryPoints = { "op-token": at("floor-worker.ts"), "op-state": at("floor-objects.ts") };
  return startProvider({ direct: true, entryPoints });
}

/** The floor's requests, as large as those of the endpoint, with the work to do before the constant response. */
export function floorTarget(origin: string, needs: Needs): Target {
  const work = floorWorks[needs];
  const authorization = { Authorization: `Basic ${"c".repeat(80)}` };
  const check = (_: number, status: number, body: string) => expectStatus(`floor ${work}`, status, body);
  if (needs === "document" || needs === "GET of nothing") {
    const request = formatRequest(
      origin,
      needs === "document" ? "/token?document" : "/token",
      needs === "document" ? {} : { Authorization: `Bearer ${"t".repeat(600)}` },
    );
    return { origin, next: () => request, check };
  }
  const form = new URLSearchParams({ work, token: "t".repeat(600) }).toString();
  const request = formatRequest(origin, "/token", authorization, form);
  return { origin, next: () => request, check };
}
