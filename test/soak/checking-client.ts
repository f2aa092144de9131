/**
 * **One client process of the soak**: checks the subjects that it receives, at one isolate after another, and reports the results without judging
 * them. If enabled, some connections send the headers first and the body later.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type Observation, slowBodyMs } from "./guarantee.ts";
import { type Request, send } from "./send.ts";

export type Check =
  | { readonly kind: "introspection"; readonly token: string }
  | { readonly kind: "userinfo"; readonly token: string }
  | { readonly kind: "client authentication"; readonly authorization: string };

export type ToClient =
  | { readonly kind: "subject"; readonly number: number; readonly group: string; readonly check: Check }
  | { readonly kind: "forget"; readonly number: number }
  | { readonly kind: "slow bodies"; readonly on: boolean }
  | { readonly kind: "stop" };

export interface ClientSettings {
  /** Origins of the isolates that serve each check, by name. */
  readonly isolates: Readonly<Record<Check["kind"], Readonly<Record<string, string>>>>;
  /** The authorization of the resource server that introspects. */
  readonly authorization: string;
  readonly connections: number;
  readonly slowConnections: number;
}

const reportEveryMs = 100;
/** A pause, so that the clients alone do not saturate a machine of two cores: a 503 is then the provider's. */
const pauseMs = 10;
const slowestBodyMs = 2_500;

function requestFor(check: Check, authorization: string): Request {
  switch (check.kind) {
    case "introspection":
      return { method: "POST", path: "/introspect", authorization, body: `token=${encodeURIComponent(check.token)}` };
    case "userinfo":
      return { method: "GET", path: "/userinfo", authorization: `Bearer ${check.token}`, body: "" };
    case "client authentication": {
      const body = "grant_type=client_credentials";
      return { method: "POST", path: "/token", authorization: check.authorization, body };
    }
  }
}

/** `undefined` if the response decides nothing. */
function isAccepted({ kind }: Check, status: number, text: string): boolean | undefined {
  if (kind !== "introspection") return status === 200 ? true : status === 401 ? false : undefined;
  if (status !== 200) return undefined;
  const { active } = JSON.parse(text) as { active?: unknown };
  return typeof active === "boolean" ? active : undefined;
}

async function run({ isolates, authorization, connections, slowConnections }: ClientSettings): Promise<void> {
  const groups = new Map<string, Map<number, Check>>();
  let seen: Observation[] = [];
  let stopped = false;
  let hasSlowBodies = false;
  process.on("message", (message: ToClient) => {
    if (message.kind === "subject") {
      const members = groups.get(message.group) ?? new Map<number, Check>();
      groups.set(message.group, members.set(message.number, message.check));
    } else if (message.kind === "forget") {
      for (const [group, members] of groups) {
        members.delete(message.number);
        if (members.size === 0) groups.delete(group);
      }
    } else if (message.kind === "slow bodies") hasSlowBodies = message.on;
    else stopped = true;
  });
  process.on("disconnect", () => process.exit());

  const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)]!;
  const observe = async (isSlow: boolean): Promise<void> => {
    // Each group equally often, so that a few subjects of a rare kind are checked as much as the many of another.
    const [subject, check] = pick([...pick([...groups.values()])]);
    const [isolate, origin] = pick(Object.entries(isolates[check.kind]));
    const before = isSlow ? sleep(slowBodyMs + Math.random() * (slowestBodyMs - slowBodyMs)) : undefined;
    const sent = await send(origin, requestFor(check, authorization), before);
    const { startedAtMs, invokedAtMs, status, text, requestId } = sent;
    const accepted = isAccepted(check, status, text);
    seen.push({ subject, isolate, startedAtMs, invokedAtMs, respondedAtMs: Date.now(), status, accepted, requestId });
    // While nothing listens, many observations of that are worth no more than one.
    if (status === 0) await sleep(50);
  };
  const connection = async (isSlow: boolean): Promise<void> => {
    while (!stopped) {
      if (groups.size > 0 && (hasSlowBodies || !isSlow)) await observe(isSlow);
      await sleep(pauseMs);
    }
  };
  const report = (): void => {
    const batch = seen;
    seen = [];
    if (batch.length > 0) process.send?.(batch);
  };
  const reporter = setInterval(report, reportEveryMs);
  await Promise.all([
    ...Array.from({ length: connections }, () => connection(false)),
    ...Array.from({ length: slowConnections }, () => connection(true)),
  ]);
  clearInterval(reporter);
  report();
  process.disconnect();
}

await run(JSON.parse(process.argv[2]!) as ClientSettings);
