import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { classesOf } from "../lib/classes.ts";
import { loadOf } from "../lib/presets.ts";
import { requiredSeeds, type Seed, type SeedFile } from "../lib/seed-file.ts";

export interface Fault {
  /** Changes the correct response for a token of a class. */
  readonly answer?: (
    className: string,
    right: Record<string, unknown>,
  ) => { status?: number; body: Record<string, unknown> } | undefined;
  readonly delayMs?: number;
}

export interface StandIn {
  readonly origin: string;
  stop(): Promise<void>;
}

function rightAnswer(seed: Seed, className: string): Record<string, unknown> {
  if (className !== "valid" && className !== "exchanged") return { active: false };
  const { sub, scope, client_id, jti, exp, aud } = seed;
  const active = { active: true, sub, scope, client_id, jti, exp, aud };
  return className === "exchanged" ? { ...active, act: { sub: seed.actor }, resource: seed.resource } : active;
}

export function standInSeed(className: string): Seed {
  return {
    token: className,
    sub: "alice",
    scope: "openid",
    client_id: "app",
    jti: "j1",
    exp: 4_000_000_000,
    aud: ["api"],
    resource: ["https://resource.example.com"],
    actor: "service-bff",
  };
}

/** Seeds for a smoke run of introspection against it. */
export function standInSeeds(origin: string): SeedFile {
  const required = requiredSeeds("introspect", loadOf("introspect", "smoke", "reference"));
  return {
    format: 1,
    scenario: "introspect",
    origin,
    issuer: origin,
    createdAt: new Date().toISOString(),
    validUntil: 4_000_000_000,
    clients: { resource: { client_id: "resource", client_secret: "secret" } },
    classes: Object.fromEntries(
      classesOf("introspect").map((name) => [name, Array.from({ length: required[name]! }, () => standInSeed(name))]),
    ),
  };
}

/**
 * **A stand-in for the provider that introspects tokens, correctly or not.** A token names its class, so the stand-in needs no keys; the caller
 * chooses the fault.
 */
export async function startStandIn(fault: Fault): Promise<StandIn> {
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    request.on("end", () => {
      const className = new URLSearchParams(text).get("token") ?? "";
      const right = rightAnswer(standInSeed(className), className);
      const { status = 200, body } = fault.answer?.(className, right) ?? { body: right };
      setTimeout(() => {
        response.writeHead(status, {
          "content-type": "application/json",
          "server-timing": "object;dur=0, kv;dur=0, d1;dur=0",
        });
        response.end(JSON.stringify(body));
      }, fault.delayMs ?? 0);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
