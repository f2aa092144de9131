import { flag, outOfRange, type SettingsOf, setting, wholeNumber } from "./setting.ts";

/**
 * **The settings of a deployment that are not variables of a Worker**: limits of the platform, logging and tracing, and how objects are updated. `npm
 * run deploy` writes them into the configuration that it generates; local runs have none of them.
 */
export const platformSettings = {
  cpuMs: wholeNumber("CPU_MS", {
    default: 2_000,
    min: 500,
    max: 300_000,
    unit: "milliseconds",
    meaning:
      "CPU time of one request (`limits.cpu_ms` of each endpoint Worker). A sign-in with a password needs about 250.",
  }),
  objectCpuMs: wholeNumber("OBJECT_CPU_MS", {
    default: 30_000,
    min: 1_000,
    max: 300_000,
    unit: "milliseconds",
    meaning: "CPU time of one call of an object (`limits.cpu_ms` of `op-state`).",
  }),
  objectUpdateDelaySeconds: wholeNumber("OBJECT_UPDATE_DELAY", {
    default: 15,
    min: 0,
    max: 300,
    unit: "seconds",
    meaning:
      "How long a busy object may go on running the earlier version after an upload (`code_update_strategy`): longer than any call in progress, so that none is lost. 0: objects restart at once, and calls in progress are 503.",
  }),
  logSampling: fraction(
    "LOG_SAMPLING",
    1,
    "The fraction of requests whose log lines are stored. 0: none, and refusals leave no trace.",
  ),
  traceSampling: fraction("TRACE_SAMPLING", 0.01, "The fraction of requests that are traced. 0: none."),
  logDestinations: names(
    "LOG_DESTINATIONS",
    "OpenTelemetry destinations of the log, as named in the Cloudflare dashboard. With one, lines are sent there too.",
  ),
  traceDestinations: names("TRACE_DESTINATIONS", "OpenTelemetry destinations of traces."),
  logStore: flag("LOG_STORE", "Store the log at Cloudflare (Workers Logs). `false` needs a destination.", "true"),
  traceStore: flag("TRACE_STORE", "Store traces at Cloudflare.", "true"),
  clientRateLimit: rateLimit("CLIENT_RATE_LIMIT", "100000/10", "Requests of one authenticated client at one endpoint."),
  failedAuthenticationRateLimit: rateLimit(
    "FAILED_AUTHENTICATION_RATE_LIMIT",
    "200/10",
    "Failed client authentications of one address; also its requests to `/register`.",
  ),
  addressRateLimit: rateLimit(
    "ADDRESS_RATE_LIMIT",
    "1000/10",
    "Requests of one address to pages, and to `/par` and `/device_authorization` for clients that are public or registered themselves. A sign-in has about six. Raise it where thousands of people share an address.",
  ),
  rateLimitNamespace: wholeNumber("RATE_LIMIT_NAMESPACE", {
    default: 0,
    min: 0,
    max: 2_000_000,
    meaning:
      "The counters of rate limits belong to an account, not to a Worker: each environment has its own thousand of them. 0: derived from the prefix.",
  }),
};

export type PlatformSettings = SettingsOf<typeof platformSettings>;

function fraction<const Variable extends string>(variable: Variable, fallback: number, meaning: string) {
  return setting(variable, {
    default: String(fallback),
    accepts: "0 to 1",
    meaning,
    parse: (name, text) => {
      const value = Number(text);
      if (text.trim() === "" || !(value >= 0 && value <= 1)) {
        throw new Error(`${name} must be a number from 0 to 1, not "${text}"`);
      }
      return value;
    },
  });
}

function names<const Variable extends string>(variable: Variable, meaning: string) {
  return setting(variable, {
    default: "",
    accepts: "names, separated by commas",
    meaning,
    parse: (name, text): readonly string[] => {
      const given = text.split(",").map((each) => each.trim());
      if (text !== "" && given.includes(""))
        throw new Error(`${name} must be names separated by commas, not "${text}"`);
      return text === "" ? [] : given;
    },
  });
}

/** The platform counts per 10 or 60 seconds. */
function rateLimit<const Variable extends string>(variable: Variable, fallback: string, meaning: string) {
  return setting(variable, {
    default: fallback,
    accepts: "`<requests>/10` or `<requests>/60`, seconds",
    meaning,
    parse: (name, text) => {
      const [, requests, period] = /^(\d+)\/(10|60)$/.exec(text) ?? [];
      const limit = Number(requests);
      if (period === undefined) throw new Error(`${name} must be <requests>/10 or <requests>/60, not "${text}"`);
      if (limit < 1 || limit > 10_000_000) throw outOfRange(name, requests ?? "", { min: 1, max: 10_000_000 });
      return { limit, periodSeconds: Number(period) };
    },
  });
}
