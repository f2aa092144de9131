/**
 * **A deployment's settings, normalised once, at the door.** Every Worker reads the same variables; each has a default
 * that is safe in production, except `ISSUER`, which must be given: it is never derived from a request.
 */
export type RevocationMode = "direct" | "strict" | "bounded";

/** Every algorithm this provider signs with and accepts from clients. */
export const signingAlgorithms = ["ES256", "RS256", "EdDSA"] as const;
export type SigningAlgorithm = (typeof signingAlgorithms)[number];

/** Plain variables of every Worker (`[vars]` in its wrangler file). */
export interface SettingsVariables {
  readonly ISSUER: string;
  readonly REVOCATION_MODE?: string;
  readonly LEASE_MS?: string;
  readonly SERVER_TIMING?: string;
  readonly ACCESS_TOKEN_LIFETIME?: string;
  readonly ID_TOKEN_LIFETIME?: string;
  readonly ACCESS_TOKEN_ALG?: string;
  readonly ID_TOKEN_ALG?: string;
  readonly INTROSPECTION_CACHE?: string;
  readonly REFRESH_GRACE?: string;
  readonly REFRESH_REPLAYS?: string;
  readonly REFRESH_TOKEN_LIFETIME?: string;
  readonly TRUST_FORWARDED_HEADERS?: string;
}

export interface Settings {
  /** No trailing slash; compared byte for byte. */
  readonly issuer: string;
  readonly revocationMode: RevocationMode;
  /** Lease length L in milliseconds; 0 in `direct`. */
  readonly leaseMs: number;
  /** Show object, KV and D1 calls of each request as `Server-Timing`. */
  readonly serverTiming: boolean;
  readonly accessTokenLifetimeSeconds: number;
  readonly idTokenLifetimeSeconds: number;
  readonly accessTokenAlgorithm: SigningAlgorithm;
  readonly idTokenAlgorithm: SigningAlgorithm;
  readonly introspectionCache: boolean;
  readonly refreshGraceSeconds: number;
  readonly refreshReplays: number;
  readonly refreshTokenLifetimeSeconds: number;
  /** Believe `X-Forwarded-For` of a proxy in front (http/client-address.ts); only where no one else can reach the Workers. */
  readonly trustForwardedHeaders: boolean;
}

/** Longest access or ID token that any client may ask for: key retirement and cut-off death dates depend on it. */
export const longestTokenLifetimeSeconds = 86_400;

/** Longest life of a refresh family, and so of a grant: cut-offs and generations outlive it. */
export const longestRefreshTokenLifetimeSeconds = 365 * 86_400;

function integer(name: string, text: string | undefined, fallback: number, min: number, max: number): number {
  const value = text === undefined || text === "" ? fallback : Number(text);
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new Error(`${name} must be a whole number from ${min} to ${max}, not "${text}"`);
  }
  return value;
}

function oneOf<T extends string>(name: string, text: string | undefined, fallback: T, allowed: readonly T[]): T {
  const value = text === undefined || text === "" ? fallback : text;
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw new Error(`${name} must be one of ${allowed.join(", ")}, not "${text}"`);
  return found;
}

function flag(name: string, text: string | undefined): boolean {
  return oneOf(name, text, "false", ["true", "false"]) === "true";
}

function readIssuer(text: string | undefined): string {
  if (text === undefined || !URL.canParse(text)) throw new Error("ISSUER must be the absolute URL of this provider");
  const url = new URL(text);
  const local = url.hostname === "localhost" || url.hostname === "127.0.0.1" || url.hostname === "[::1]";
  if (url.protocol !== "https:" && !(local && url.protocol === "http:")) {
    throw new Error("ISSUER must be https, except on localhost");
  }
  if (text !== url.origin) {
    throw new Error("ISSUER must be an origin: scheme, host and port in lower case, no path and no trailing slash");
  }
  return text;
}

const known = new WeakMap<object, Settings>();

/** Reads and checks the settings once per isolate. Throws `Error` naming the variable: a deployment mistake, not a caller's. */
export function readSettings(env: SettingsVariables): Settings {
  const cached = known.get(env);
  if (cached !== undefined) return cached;
  const revocationMode = oneOf("REVOCATION_MODE", env.REVOCATION_MODE, "strict", ["direct", "strict", "bounded"]);
  const settings: Settings = {
    issuer: readIssuer(env.ISSUER),
    revocationMode,
    leaseMs: revocationMode === "direct" ? 0 : integer("LEASE_MS", env.LEASE_MS, 1000, 100, 10_000),
    serverTiming: flag("SERVER_TIMING", env.SERVER_TIMING),
    accessTokenLifetimeSeconds: integer(
      "ACCESS_TOKEN_LIFETIME",
      env.ACCESS_TOKEN_LIFETIME,
      3600,
      1,
      longestTokenLifetimeSeconds,
    ),
    idTokenLifetimeSeconds: integer("ID_TOKEN_LIFETIME", env.ID_TOKEN_LIFETIME, 3600, 1, longestTokenLifetimeSeconds),
    accessTokenAlgorithm: oneOf("ACCESS_TOKEN_ALG", env.ACCESS_TOKEN_ALG, "ES256", signingAlgorithms),
    idTokenAlgorithm: oneOf("ID_TOKEN_ALG", env.ID_TOKEN_ALG, "RS256", signingAlgorithms),
    introspectionCache: flag("INTROSPECTION_CACHE", env.INTROSPECTION_CACHE),
    refreshGraceSeconds: integer("REFRESH_GRACE", env.REFRESH_GRACE, 30, 0, 300),
    refreshReplays: integer("REFRESH_REPLAYS", env.REFRESH_REPLAYS, 5, 0, 100),
    refreshTokenLifetimeSeconds: integer(
      "REFRESH_TOKEN_LIFETIME",
      env.REFRESH_TOKEN_LIFETIME,
      30 * 86_400,
      60,
      longestRefreshTokenLifetimeSeconds,
    ),
    trustForwardedHeaders: flag("TRUST_FORWARDED_HEADERS", env.TRUST_FORWARDED_HEADERS),
  };
  known.set(env, settings);
  return settings;
}
