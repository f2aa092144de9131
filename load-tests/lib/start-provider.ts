import { join } from "node:path";
import { loadTestsRoot } from "./find-k6.ts";
import { startProcess } from "./start-process.ts";

export interface Deployment {
  readonly origin: string;
  readonly issuer: string;
  readonly admin: { readonly client_id: string; readonly client_secret: string };
}

export interface StartedProvider extends Deployment {
  /** Origins of the endpoint Workers' separate sockets, if requested. */
  readonly direct: Readonly<Record<string, string>>;
  /** The resource servers next to it, by name. */
  readonly resources: Readonly<Record<string, string>>;
  readonly processId: number;
  stop(): Promise<void>;
}

export interface ProviderOptions {
  readonly port?: number;
  /** The directory of its state; by default a temporary one that is deleted at the end. */
  readonly stateDir?: string;
  readonly vars?: Readonly<Record<string, string>>;
  readonly direct?: boolean;
  /** All Workers in one; separate ones by default. */
  readonly shape?: "separate" | "compact";
  /** Additional isolates of each endpoint Worker, on sockets of their own (`op-token#2`, …). */
  readonly extraIsolates?: number;
  /** Round trips to the stores, in milliseconds. */
  readonly distances?: Readonly<Record<"object" | "kv" | "d1", number>>;
  /** Replacement entry points by Worker name, such as the bench's floor. */
  readonly entryPoints?: Readonly<Record<string, string>>;
  /** Password hashes cost next to nothing, so that what else a sign-in does can be measured. */
  readonly cheapPasswords?: boolean;
  /** Mails are sent to a mailbox, which `/dev/mailbox` shows. */
  readonly mailbox?: boolean;
  /** A Worker of the operator's, bound as `HOOKS`. */
  readonly hooks?: { readonly path: string };
  /** Additional Workers, such as resource servers. */
  readonly applications?: Readonly<Record<string, unknown>>;
}

/**
 * **Starts a local provider as a separate process** and returns its address; they share only HTTP. `checkout` is the root of another checkout whose
 * provider is started.
 */
export async function startProvider(options: ProviderOptions, checkout?: string): Promise<StartedProvider> {
  const script = join(checkout ?? join(loadTestsRoot, ".."), "load-tests/lib/serve-provider.ts");
  type Said = Omit<StartedProvider, "processId" | "stop">;
  const { said, processId, stop } = await startProcess<Said>(script, options);
  return { ...said, processId, stop };
}
