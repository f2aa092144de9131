import { setTimeout as sleep } from "node:timers/promises";
import type { Observation } from "./guarantee.ts";

/**
 * **One client process of the soak**: introspects tokens it is told of, at one isolate after another, as fast as a few
 * connections can, and reports what it saw. It judges nothing.
 */
export type ToClient =
  | { readonly kind: "token"; readonly number: number; readonly value: string }
  | { readonly kind: "forget"; readonly number: number }
  | { readonly kind: "stop" };

export interface ClientSettings {
  readonly origins: Readonly<Record<string, string>>;
  readonly authorization: string;
  readonly connections: number;
}

const reportEveryMs = 100;

async function introspect(origin: string, authorization: string, token: string) {
  try {
    const response = await fetch(`${origin}/introspect`, {
      method: "POST",
      headers: { authorization },
      body: new URLSearchParams({ token }),
    });
    const body = (await response.json()) as { active?: boolean };
    return { status: response.status, active: body.active };
  } catch (error) {
    // A connection that breaks is an observation too: whether it may break is judged by whether a fault lasts.
    if (error instanceof TypeError || error instanceof SyntaxError) return { status: 0, active: undefined };
    throw error;
  }
}

async function run({ origins, authorization, connections }: ClientSettings): Promise<void> {
  const tokens = new Map<number, string>();
  const isolates = Object.entries(origins);
  let seen: Observation[] = [];
  let stopped = false;
  process.on("message", (message: ToClient) => {
    if (message.kind === "token") tokens.set(message.number, message.value);
    else if (message.kind === "forget") tokens.delete(message.number);
    else stopped = true;
  });
  process.on("disconnect", () => process.exit());

  const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)]!;
  const connection = async (): Promise<void> => {
    while (!stopped) {
      if (tokens.size === 0) {
        await sleep(10);
        continue;
      }
      const [number, value] = pick([...tokens]);
      const [isolate, origin] = pick(isolates);
      const invokedAtMs = Date.now();
      const { status, active } = await introspect(origin, authorization, value);
      seen.push({ token: number, isolate, invokedAtMs, answeredAtMs: Date.now(), status, active });
      // While nothing listens, many observations of that say no more than one.
      if (status === 0) await sleep(50);
    }
  };
  const report = (): void => {
    const batch = seen;
    seen = [];
    if (batch.length > 0) process.send?.(batch);
  };
  const reporter = setInterval(report, reportEveryMs);
  await Promise.all(Array.from({ length: connections }, connection));
  clearInterval(reporter);
  report();
  process.disconnect();
}

await run(JSON.parse(process.argv[2]!) as ClientSettings);
