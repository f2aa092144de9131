import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { adviceToInstall, useRuntime } from "../src/runtime.ts";
import { serveHooks } from "../src/serve-hooks.ts";
import { HostConnection, type HostProgram } from "./host-connection.ts";
import { type CreatedProvider, type SeedFile, TestProvider } from "./test-provider.ts";

export type { SentMail } from "../src/mailbox.ts";
export { Person } from "./person.ts";
export type {
  SeedFile,
  SeedUser,
  Session,
  SignedIn,
  SignInOptions,
  StoreName,
  TestClient,
  TestProvider,
  TestUser,
  Tokens,
} from "./test-provider.ts";

export interface TestProviderOptions {
  /** Clients, users, roles and resources; the demo's by default. */
  readonly seed?: SeedFile;
  /** Settings of the provider: `{ SESSION_IDLE: "3600" }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Hooks of yours (`@edge-op/hooks`): an object or an instance with some of the methods, which are called in this process. */
  readonly hooks?: object;
}

/**
 * **Creates a provider for a file of tests** (docs/test-provider.md), with its own state, keys and clock. All test processes of a machine share one
 * runtime: the first provider starts it, and it ends by itself some seconds after the last process.
 */
export async function createTestProvider(options: TestProviderOptions = {}): Promise<TestProvider> {
  const root = join(import.meta.dirname, "../..");
  if (!useRuntime(root)) throw new Error(adviceToInstall(root));
  const host = await HostConnection.open(program());
  const hooks = options.hooks === undefined ? undefined : await serveHooks(options.hooks);
  const created = (await host.call("POST", "/instances", {
    seed: options.seed,
    settings: { ...hooks?.settings, ...options.settings },
    hooks: hooks?.origin,
  })) as CreatedProvider;
  return new TestProvider(host, created, hooks);
}

/** The program of this package. */
function program(): HostProgram {
  const path = join(import.meta.dirname, "../host-program.js");
  const { mtimeMs, size } = statSync(path);
  const key = createHash("sha256").update(`${path} ${mtimeMs} ${size}`).digest("hex").slice(0, 16);
  return { key, argv: [path] };
}
