/**
 * **A process that serves the whole provider locally**, for smoke tests and the bench: production bundles, temporary state, and a separate process,
 * so that a generator never shares its thread. Takes options as JSON in the first argument, prints its address as one line of JSON, and ends with its
 * standard input.
 */

import type { ProviderOptions } from "./start-provider.ts";

interface RunModule {
  runProvider(
    builds: unknown,
    options: unknown,
  ): Promise<{
    readonly origin: string;
    readonly issuer: string;
    readonly admin: unknown;
    readonly direct: unknown;
    readonly resources: unknown;
    stop(): Promise<void>;
  }>;
}

interface BuildsModule {
  buildFromSources(plugins: readonly unknown[]): unknown;
  replaceModule(original: string, replacement: string): unknown;
}

interface MailboxModule {
  readonly Mailbox: {
    start(): Promise<{
      variables(key: string): Readonly<Record<string, string>>;
      mails(key: string): unknown;
      close(): void;
    }>;
  };
}

interface PagesModule {
  serveDevelopmentPage(request: unknown, activity: unknown, content: unknown, mails: unknown): Promise<unknown>;
}

interface LogLine {
  readonly level: string;
  readonly message: string;
}

interface ActivityModule {
  readonly Activity: new () => { read(line: LogLine): void };
}

/** Modules that are typed for another environment. */
async function moduleOf<Module>(path: string): Promise<Module> {
  return (await import(new URL(`../../packages/edge-op/src/${path}`, import.meta.url).href)) as Module;
}

const boxName = "load";

function printError({ level, message }: LogLine): void {
  if (level === "error") console.error(message);
}

/** The options of a provider with a mailbox, and its page. */
async function withMailbox({ vars, ...others }: ProviderOptions) {
  const [{ Mailbox }, { serveDevelopmentPage }, { Activity }] = await Promise.all([
    moduleOf<MailboxModule>("mailbox.ts"),
    moduleOf<PagesModule>("dev/development-pages.ts"),
    moduleOf<ActivityModule>("dev/activity.ts"),
  ]);
  const mailbox = await Mailbox.start();
  const panel = { issuer: "", demo: undefined, users: [], clients: [], secrets: "" };
  const activity = new Activity();
  return {
    ...others,
    vars: { ...mailbox.variables(boxName), ...vars },
    pages: (request: unknown) => serveDevelopmentPage(request, activity, panel, mailbox.mails(boxName)),
    // Without the lines, each page with a problem waits for an explanation.
    onLog: (line: LogLine) => {
      activity.read(line);
      printError(line);
    },
  };
}

const { mailbox = false, cheapPasswords = false, ...options } = JSON.parse(process.argv[2] ?? "{}") as ProviderOptions;
const [{ runProvider }, { buildFromSources, replaceModule }] = await Promise.all([
  moduleOf<RunModule>("run-provider.ts"),
  moduleOf<BuildsModule>("source-builds.ts"),
]);
const cheapCost = () => replaceModule("packages/shared/src/secrets/password-cost.ts", "test/fixtures/password-cost.ts");
const provider = await runProvider(buildFromSources(cheapPasswords ? [cheapCost()] : []), {
  onLog: printError,
  ...(mailbox ? await withMailbox(options) : options),
});
const { origin, issuer, admin, direct, resources } = provider;
process.stdin.on("end", () => {
  void provider.stop().then(() => process.exit(0));
});
process.stdin.resume();
console.log(JSON.stringify({ origin, issuer, admin, direct, resources }));
