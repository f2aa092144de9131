import type { IsolateProcess } from "../../packages/edge-op/src/isolate-process.ts";

export interface MeasuredProvider {
  readonly origin: string;
  readonly issuer: string;
  readonly admin: { readonly client_id: string; readonly client_secret: string };
  readonly direct: Readonly<Record<string, string>>;
  startIsolate(): Promise<IsolateProcess>;
  stop(): Promise<void>;
}

export interface MeasuredProviderOptions {
  readonly vars?: Readonly<Record<string, string>>;
  readonly entryPoints?: Readonly<Record<string, string>>;
  readonly direct?: boolean;
  readonly extraIsolates?: number;
  readonly isolateProcesses?: boolean;
  readonly relays?: number;
}

const script = new URL("../../packages/edge-op/src/local-provider.ts", import.meta.url).href;

/**
 * **Starts a local provider in this process**, for measurements that freeze and kill its isolates. The other load tests use a separate process
 * (`start-provider.ts`). The module is imported at run time, because it is typed for another environment.
 */
export async function startMeasuredProvider(options: MeasuredProviderOptions): Promise<MeasuredProvider> {
  const { startLocalProvider } = (await import(script)) as {
    startLocalProvider(options: MeasuredProviderOptions): Promise<MeasuredProvider>;
  };
  return startLocalProvider(options);
}
