import { resolve } from "node:path";
import type { Builds } from "../builds.ts";
import type { Seed } from "../demo/seed.ts";
import { describeHooks, settingsOfHooks } from "../local-hooks.ts";
import type { LocalProvider } from "../run-provider.ts";
import type { LogLine } from "../runtime-process.ts";
import { settingsFrom } from "../settings-variables.ts";
import type { DevOptions } from "./dev-command.ts";
import { adviceFor, DevelopmentRun, type Registered } from "./run-development.ts";

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * **Stops cleanly** on Ctrl-C, SIGTERM, SIGHUP, or when the parent process has ended (its channel closes). `stop` runs once; a second signal more
 * than a second later ends the process at once. The returned function registers for the signals again, because Miniflare exits on them without
 * waiting and registers its listeners whenever a runtime starts.
 */
export function onStop(stop: (reason: string) => Promise<void>): () => void {
  let askedAt: number | undefined;
  const ask = (reason: string): void => {
    if (askedAt !== undefined) {
      // One Ctrl-C reaches this process twice: from the terminal and through the parent.
      if (performance.now() - askedAt > 1000) process.exit(1);
      return;
    }
    askedAt = performance.now();
    stop(reason).then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  const claim = (): void => {
    for (const signal of signals) {
      process.removeAllListeners(signal);
      process.on(signal, () => ask(signal));
    }
  };
  claim();
  process.on("disconnect", () => ask("parent gone"));
  // Listening for the parent must not keep a finished script alive.
  process.channel?.unref();
  return claim;
}

/** **Runs the provider and prints its users and clients**, until a signal ends it. */
export async function serveDevelopment(
  builds: Builds,
  { port, data, hooks, verbose }: DevOptions,
  seed: Seed | undefined,
): Promise<void> {
  const startedAt = performance.now();
  const log = ({ level, message }: LogLine): void => {
    if (verbose || level === "error" || level === "warn") console.error(`[${level}] ${message}`);
  };
  const ofHooks = hooks === undefined ? {} : await settingsOfHooks(hooks);
  const vars = { REQUEST_LOG_PERCENT: "100", ...ofHooks, ...settingsFrom(process.env) };
  const development = new DevelopmentRun(builds, {
    port,
    host: "127.0.0.1",
    demoPort: port + 1,
    shape: "compact",
    vars,
    ...(data === undefined ? {} : { stateDir: resolve(data) }),
    ...(seed === undefined ? {} : { seed }),
    ...(hooks === undefined ? {} : { hooks: { path: hooks } }),
    onLog: log,
    onProgress: () => undefined,
  });
  const claimSignals = onStop(() => development.stop());
  try {
    const { provider, registered } = await development.start();
    claimSignals();
    console.log(describe(provider, registered, seed === undefined ? port + 1 : undefined));
    if (hooks !== undefined) console.log(`Hooks of ${hooks}: ${describeHooks(vars)}\n`);
    console.log(`Ready in ${((performance.now() - startedAt) / 1000).toFixed(1)} s. Ctrl-C stops it.`);
  } catch (error) {
    await development.stop();
    const advice = adviceFor(error, { otherPort: `--port ${port + 100}`, anew: `rm -r ${data ?? ""}` });
    if (advice === undefined) throw error;
    console.error(advice);
    process.exit(1);
  }
}

function describe(
  { origin }: LocalProvider,
  { admin, clients, users, administrator }: Registered,
  demoPort: number | undefined,
): string {
  const lines = [
    `Edge OP listens at ${origin}`,
    `  refusals    ${origin}/dev/refusals`,
    `  mailbox     ${origin}/dev/mailbox`,
    `  console     ${origin}/console`,
    `  discovery   ${origin}/.well-known/openid-configuration`,
    ...(demoPort === undefined ? [] : [`  demo        http://localhost:${demoPort}`]),
    "",
    "Users",
    ...[...Object.values(users), administrator ?? []]
      .flat()
      .map(({ username, password }) => `  ${username.padEnd(28)} ${password}`),
    "",
    "Clients",
    ...[admin, ...Object.values(clients)].map(
      ({ client_id: id, client_secret: secret }) => `  ${id.padEnd(28)} ${secret === "" ? "(public)" : secret}`,
    ),
    "",
  ];
  return lines.join("\n");
}
