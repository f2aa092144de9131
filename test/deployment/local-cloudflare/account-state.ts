/** **The local Cloudflare API's knowledge of an account**: plain data, which tests may change like an operator in the dashboard. */
export interface AccountState {
  readonly id: string;
  readonly name: string;
  subdomain: string | undefined;
  readonly scripts: Map<string, Script>;
  readonly databases: Map<string, Database>;
  readonly namespaces: Map<string, { readonly id: string; readonly title: string }>;
  readonly queues: Map<string, Queue>;
  readonly domains: Map<string, Domain>;
  /** R2 buckets by name, each with its jurisdiction. */
  readonly buckets: Map<string, string>;
  readonly mtlsCertificates: { readonly id: string; readonly ca: boolean; readonly certificates: string }[];
}

export interface Script {
  readonly name: string;
  migrationTag: string | undefined;
  subdomainEnabled: boolean;
  /** The port on which the runtime serves it. */
  readonly port: number;
  /** Versions, newest last. */
  readonly versions: Version[];
  readonly deployments: Deployment[];
  crons: readonly string[];
  settings: Readonly<Record<string, unknown>>;
}

export interface Version {
  readonly id: string;
  readonly metadata: UploadMetadata;
  readonly modules: readonly UploadedModule[];
  /** Bindings including inherited ones and secrets. */
  readonly bindings: readonly Binding[];
}

export interface Deployment {
  readonly id: string;
  readonly versionId: string;
  readonly codeUpdateStrategy: unknown;
  readonly versions: readonly { readonly version_id: string; readonly percentage: number }[];
}

export interface UploadedModule {
  readonly name: string;
  readonly text: string;
}

export interface UploadMetadata {
  readonly main_module?: string;
  readonly compatibility_date: string;
  readonly compatibility_flags?: readonly string[];
  readonly bindings?: readonly Binding[];
  readonly keep_bindings?: readonly string[];
  readonly migrations?: { readonly new_tag?: string };
  readonly code_update_strategy?: unknown;
  readonly [member: string]: unknown;
}

export interface Binding {
  readonly name: string;
  readonly type: string;
  readonly text?: string;
  readonly [member: string]: unknown;
}

export interface Database {
  readonly uuid: string;
  readonly name: string;
  readonly place: Readonly<Record<string, unknown>>;
}

export interface Queue {
  readonly id: string;
  readonly name: string;
  readonly consumers: Consumer[];
}

export interface Consumer {
  readonly id: string;
  readonly script: string;
  readonly settings: unknown;
  readonly deadLetters: string | undefined;
}

export interface Domain {
  readonly id: string;
  readonly hostname: string;
  readonly service: string;
  readonly zoneId: string;
}

export interface Zone {
  readonly id: string;
  readonly name: string;
  readonly account: string;
  routes: { readonly id: string; readonly pattern: string; readonly script: string }[];
  /** Hosts that request client certificates, by the uploaded authority; "" is Cloudflare's own. */
  readonly certificateHosts: Map<string, readonly string[]>;
  readonly dnsRecords: { readonly type: string; readonly name: string; readonly content: string }[];
}

/** The version that requests reach. */
export function runningVersion(script: Script): Version | undefined {
  const newest = script.deployments.at(-1);
  return script.versions.find(({ id }) => id === newest?.versionId);
}
