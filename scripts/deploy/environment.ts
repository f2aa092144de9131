import { type Shape, shapes } from "../../packages/edge-op/src/workers.ts";
import { pageSettings, readDeployment } from "../../packages/op-auth/src/runtime/deployment.ts";
import { type PlatformSettings, platformSettings } from "../../packages/shared/src/config/deployment-settings.ts";
import { readAll, type Setting, type SettingTable } from "../../packages/shared/src/config/setting.ts";
import { readSettings, type Settings, workerSettings } from "../../packages/shared/src/config/settings.ts";
import { wrongAuthority } from "./client-authority.ts";

export interface EnvironmentFile {
  /** The https origin that users and clients see; omitted with `workersDev`. */
  readonly issuer?: string;
  /** Serve under workers.dev: the address of the Worker `<prefix>`, or `<prefix>-state` if compact, is then the issuer. */
  readonly workersDev?: boolean;
  /** "compact": one Worker; "separate": a Worker for each endpoint (docs/operating/shapes.md). Without it: what is deployed, "compact" at first. */
  readonly shape?: Shape;
  /** Account id; required if the token can use several. */
  readonly account?: string;
  /** The prefix of every name of the environment. */
  readonly prefix?: string;
  /** The zone of the issuer's host name; found by its name if omitted. */
  readonly zone?: string;
  /** The authority whose client certificates the host of `MTLS_ORIGIN` trusts, in PEM; Cloudflare's own if omitted (docs/operating/mutual-tls.md). */
  readonly clientAuthority?: string;
  /** Settings that differ from their defaults (docs/reference/settings.md). */
  readonly settings?: Readonly<Partial<Record<SettingName, string | number | boolean>>>;
  /**
   * Names of existing stores, by their binding, if they differ from those derived from the prefix: `{ "DB": "edge-op" }`. `{ "METRICS": "none" }`
   * writes no data points; `{ "HOOKS": "my-hooks" }` binds a Worker of yours (docs/operating/hooks.md).
   */
  readonly resources?: Readonly<Record<string, string>>;
  /** Existing resources of others that may be taken over, by the names that `npm run deploy` prints. */
  readonly takeOver?: readonly string[];
}

type VariableOf<Table extends SettingTable> = Table[keyof Table]["variable"];
export type SettingName =
  | Exclude<VariableOf<typeof workerSettings>, "ISSUER">
  | VariableOf<typeof pageSettings>
  | VariableOf<typeof platformSettings>;

export interface Environment {
  readonly name: string;
  /** `undefined` until the account's workers.dev subdomain is known. */
  readonly issuer: string | undefined;
  readonly workersDev: boolean;
  readonly shape: Shape;
  /** Whether the file names the shape. Otherwise the deployment keeps the one that it has. */
  readonly isShapeGiven: boolean;
  readonly account: string | undefined;
  readonly prefix: string;
  readonly zone: string | undefined;
  readonly clientAuthority: string | undefined;
  /** Variables of every Worker. */
  readonly variables: Readonly<Record<string, string>>;
  /** Variables of op-auth only. */
  readonly authVariables: Readonly<Record<string, string>>;
  readonly region: Settings["region"];
  readonly jurisdiction: Settings["jurisdiction"];
  readonly platform: PlatformSettings;
  readonly resources: Readonly<Record<string, string>>;
  readonly takeOver: ReadonlySet<string>;
}

const members = [
  "issuer",
  "workersDev",
  "shape",
  "account",
  "prefix",
  "zone",
  "clientAuthority",
  "settings",
  "resources",
  "takeOver",
];
/** Most requests of a small deployment meet an isolate that has just started, and one isolate serves all endpoints (ADR 32). */
const defaultShape: Shape = "compact";
const environmentName = /^[a-z][a-z0-9-]{0,19}$/;
/** Suffixes of the Workers' names: a prefix with such a suffix would name a Worker of another environment. */
const workerEnds = ["-state", "-token", "-management", "-userinfo", "-auth", "-audit", "-cache"];

export type Checked = { readonly environment: Environment } | { readonly errors: readonly string[] };

export function defaultPrefix(name: string): string {
  return name === "production" ? "op" : `op-${name}`;
}

export function isEnvironmentName(name: string): boolean {
  return environmentName.test(name);
}

/**
 * **One environment of a deployment**: checks the entire file in `deployments/` before anything is changed, and returns every fault, so that one run
 * names them all.
 */
export function checkEnvironment(name: string, file: unknown): Checked {
  if (typeof file !== "object" || file === null) return { errors: ["the file must export an object"] };
  const given = file as Record<string, unknown>;
  const errors = Object.keys(given).flatMap((key) =>
    members.includes(key) ? [] : [`${key} is not known; known are ${members.join(", ")}`],
  );
  const text = (key: string): string | undefined => {
    const value = given[key];
    if (value === undefined || (typeof value === "string" && value !== "")) return value;
    errors.push(`${key} must be a text`);
    return undefined;
  };
  const collect = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      errors.push(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  };
  const workersDev = given["workersDev"] === true;
  if (given["workersDev"] !== undefined && typeof given["workersDev"] !== "boolean") {
    errors.push("workersDev must be true or false");
  }
  const shape = text("shape") ?? defaultShape;
  if (!isShape(shape)) errors.push(`shape must be one of ${Object.keys(shapes).join(", ")}, not "${shape}"`);
  const prefix = text("prefix") ?? defaultPrefix(name);
  errors.push(...wrongPrefix(prefix));
  const issuer = text("issuer");
  errors.push(...wrongIssuer(issuer, workersDev));
  const settings = textsOf(given["settings"], "settings", errors);
  const { variables, authVariables, platform } = readEach(settings, prefix, errors, collect);
  const shared = collect(() => readSettings({ ...variables, ISSUER: "https://op.example.com" }));
  collect(() => readDeployment(authVariables));
  const { MTLS_ORIGIN: mtlsOrigin, MTLS_PROXY_KEY_SHA256: mtlsProxy } = variables;
  if (mtlsProxy === undefined && URL.canParse(mtlsOrigin ?? "") && new URL(mtlsOrigin!).port !== "") {
    errors.push(`settings.MTLS_ORIGIN must have no port: Cloudflare serves Workers at 443 alone, not "${mtlsOrigin}"`);
  }
  const takeOver = given["takeOver"] ?? [];
  if (!Array.isArray(takeOver)) errors.push("takeOver must be a list");
  const resources = textsOf(given["resources"], "resources", errors);
  if (shared !== undefined) errors.push(...wrongHooks(shared, resources["HOOKS"]));
  const account = text("account");
  const zone = text("zone");
  const clientAuthority = text("clientAuthority");
  const authorityFault = clientAuthority === undefined ? undefined : wrongAuthority(clientAuthority);
  if (authorityFault !== undefined) errors.push(authorityFault);
  if (errors.length > 0 || shared === undefined || platform === undefined || !isShape(shape))
    return { errors: [...new Set(errors)] };
  return {
    environment: {
      name,
      issuer,
      workersDev,
      shape,
      isShapeGiven: given["shape"] !== undefined,
      account,
      prefix,
      zone,
      clientAuthority,
      variables,
      authVariables,
      region: shared.region,
      jurisdiction: shared.jurisdiction,
      platform,
      resources,
      takeOver: new Set((takeOver as unknown[]).map(String)),
    },
  };
}

export function isShape(text: string | undefined): text is Shape {
  return text !== undefined && Object.hasOwn(shapes, text);
}

function wrongPrefix(prefix: string): string[] {
  if (!/^[a-z][a-z0-9-]{0,30}[a-z0-9]$/.test(prefix)) {
    return [`prefix must be 2 to 32 lower-case letters, digits and hyphens, not "${prefix}"`];
  }
  const end = workerEnds.find((each) => prefix.endsWith(each));
  return end === undefined
    ? []
    : [`prefix must not end with ${end}: "${prefix}" could be a name of another environment`];
}

/** A hook that is enabled and not bound would fail at each sign-in. */
function wrongHooks({ enabledHooks, mailProvider }: Settings, hooks: string | undefined): string[] {
  const isCalled = Object.keys(enabledHooks).length > 0 || mailProvider === "hook";
  if (isCalled && hooks === undefined) return ["resources.HOOKS must name the Worker whose hooks are enabled"];
  return !isCalled && hooks !== undefined ? ["settings.ENABLED_HOOKS must name the hooks of resources.HOOKS"] : [];
}

/** Requires a public https origin, because the effects of a localhost issuer on a deployment cannot be repaired later. */
function wrongIssuer(issuer: string | undefined, workersDev: boolean): string[] {
  if (workersDev)
    return issuer === undefined ? [] : ["issuer and workersDev exclude each other: workers.dev has its own"];
  if (issuer === undefined)
    return ["issuer is missing: the https origin that users and clients see, or workersDev: true"];
  if (!URL.canParse(issuer)) return [`issuer must be an https origin, not "${issuer}"`];
  const { protocol, hostname, origin, port } = new URL(issuer);
  const isPublicName =
    /\..*[^.]$/.test(hostname) && !/^[\d.]+$|\.(?:localhost|local|internal|test|invalid)$/.test(hostname);
  if (protocol !== "https:" || !isPublicName) return [`issuer must be https on a public host name, not "${issuer}"`];
  if (hostname.endsWith(".workers.dev")) return ["issuer under workers.dev: set workersDev: true instead"];
  if (port !== "") return [`issuer must have no port: Cloudflare serves Workers at 443 alone, not "${issuer}"`];
  if (issuer !== origin)
    return [`issuer must be an origin without path and trailing slash: "${origin}", not "${issuer}"`];
  return [];
}

function textsOf(value: unknown, name: string, errors: string[]): Record<string, string> {
  if (value === undefined) return {};
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    errors.push(`${name} must be an object`);
    return {};
  }
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]: [string, unknown]) => {
      if (["string", "number", "boolean"].includes(typeof each)) return [[key, String(each)]];
      errors.push(`${name}.${key} must be a text, a number, true or false`);
      return [];
    }),
  );
}

type Collect = <T>(read: () => T) => T | undefined;

function byVariable(settings: SettingTable): ReadonlyMap<string, Setting> {
  return new Map(Object.values(settings).map((setting) => [setting.variable, setting]));
}

const ofWorkers = byVariable(workerSettings);
const ofPages = byVariable(pageSettings);
const ofPlatform = byVariable(platformSettings);

/** Checks each setting; an unknown name is an error, because a misspelt limit would silently have its default. */
function readEach(settings: Record<string, string>, prefix: string, errors: string[], collect: Collect) {
  const variables: Record<string, string> = {};
  const authVariables: Record<string, string> = {};
  for (const [name, value] of Object.entries(settings)) {
    const setting = ofWorkers.get(name) ?? ofPages.get(name) ?? ofPlatform.get(name);
    if (name === "ISSUER") errors.push("settings.ISSUER: the issuer is a member of its own");
    else if (setting === undefined) errors.push(`settings.${name} is not known (docs/reference/settings.md)`);
    else collect(() => setting.read(value));
    if (ofWorkers.has(name) && name !== "ISSUER") variables[name] = value;
    if (ofPages.has(name)) authVariables[name] = value;
  }
  const platform = collect(() => readPlatform(settings, prefix));
  return { variables, authVariables, platform };
}

function readPlatform(settings: Record<string, string>, prefix: string): PlatformSettings {
  const platform = readAll(platformSettings, settings);
  if (!platform.logStore && platform.logDestinations.length === 0) {
    throw new Error("LOG_STORE false needs LOG_DESTINATIONS");
  }
  return { ...platform, rateLimitNamespace: platform.rateLimitNamespace || derivedNamespace(prefix) };
}

/** 1 to 2,000,000, from the prefix (FNV-1a). */
function derivedNamespace(prefix: string): number {
  let hash = 0x811c9dc5;
  for (const character of prefix) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  return 1 + ((hash >>> 0) % 2_000_000);
}
