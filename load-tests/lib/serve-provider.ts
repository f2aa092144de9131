/**
 * **A process that serves the whole provider locally**, for smoke tests and the bench: production bundles, temporary state, and a separate process,
 * so that a generator never shares its thread. Takes options as JSON in the first argument, prints its address as one line of JSON, and ends with its
 * standard input.
 */

interface LocalProviderModule {
  startLocalProvider(options: unknown): Promise<{
    readonly origin: string;
    readonly issuer: string;
    readonly admin: unknown;
    readonly direct: unknown;
    readonly resources: unknown;
    stop(): Promise<void>;
  }>;
}

const scripts = new URL("../../packages/edge-op/src/local-provider.ts", import.meta.url).href;
const { startLocalProvider } = (await import(scripts)) as LocalProviderModule;
const provider = await startLocalProvider({
  ...JSON.parse(process.argv[2] ?? "{}"),
  onLog: ({ level, message }: { level: string; message: string }) => {
    if (level === "error") console.error(message);
  },
});
const { origin, issuer, admin, direct, resources } = provider;
process.stdin.on("end", () => {
  void provider.stop().then(() => process.exit(0));
});
process.stdin.resume();
console.log(JSON.stringify({ origin, issuer, admin, direct, resources }));
