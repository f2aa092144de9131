/** **The values of settings that are more than a number or a text**, and how each is read. */

import { isPrivateUseName } from "@edge-op/protocol/oauth/uris";

/**
 * **Where objects and databases are created**: the location hints and jurisdictions of the platform that this provider accepts. An object stays where
 * it was created, so both are chosen before the first request.
 *
 * @see https://developers.cloudflare.com/durable-objects/reference/data-location/
 */
export const locationHints = ["wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"] as const;
type LocationHint = (typeof locationHints)[number];

/** `none`: no restriction. Objects of another jurisdiction are other objects, so it can never change. */
export const jurisdictions = ["none", "eu", "us"] as const;
export type Jurisdiction = (typeof jurisdictions)[number];

/** The hints within a jurisdiction; the platform ignores others. */
export const hintsWithin: Readonly<Record<Jurisdiction, readonly LocationHint[]>> = {
  none: locationHints,
  eu: ["weur", "eeur"],
  us: ["wnam", "enam"],
};

export function isLocationHint(text: string): text is LocationHint {
  return locationHints.some((hint) => hint === text);
}

/**
 * **Security profiles**, for a deployment or a client. `fapi2`: the FAPI 2.0 Security Profile. `fapi2_message_signing`: the same, with signed
 * requests and responses.
 *
 * @see https://openid.net/specs/fapi-security-profile-2_0-final.html
 * @see https://openid.net/specs/fapi-message-signing-2_0.html
 */
export const securityProfiles = ["none", "fapi2", "fapi2_message_signing"] as const;

export type SecurityProfile = (typeof securityProfiles)[number];

/** **The policies that decide who may register clients** at `/register` (RFC 7591). */
export const clientRegistrationPolicies = ["off", "token", "open"] as const;

/** An issuer of software statements, and the location of its keys. */
interface StatementIssuer {
  readonly issuer: string;
  readonly jwksUri: string;
}

export function parseStatementIssuers(name: string, text: string): readonly StatementIssuer[] {
  const parts = text.split(/\s+/).filter((part) => part !== "");
  return parts.map((part) => {
    const at = part.indexOf("=");
    const [issuer, jwksUri] = [part.slice(0, at), part.slice(at + 1)];
    if (at < 1 || !URL.canParse(jwksUri)) {
      throw new Error(`${name} must be <issuer>=<jwks_uri>, separated by spaces, not "${part}"`);
    }
    return { issuer, jwksUri };
  });
}

/** Schemes without a dot; one with a dot is allowed anyway (RFC 8252 §7.1). */
export function parsePrivateUseSchemes(name: string, text: string): readonly string[] {
  const schemes = text.split(/\s+/).filter((scheme) => scheme !== "");
  const wrong = schemes.find((scheme) => !isPrivateUseName(scheme));
  if (wrong === undefined) return schemes;
  throw new Error(
    `${name} must be private-use schemes without a dot, in lower case, separated by spaces, not "${wrong}"`,
  );
}

/** **Policies about clients that are known by a metadata document**: refused, confirmed by the user each time, or treated like registered clients. */
export const documentPolicies = ["deny", "ask", "allow"] as const;
export type DocumentPolicy = (typeof documentPolicies)[number];

export interface HostPolicy {
  readonly policy: DocumentPolicy;
  /** `*.example.com`: every host below it. */
  readonly host: string;
}

/** `deny=evil.example allow=*.example.com`: exceptions. The first one that names a host applies. */
export function parseHostPolicies(name: string, text: string): readonly HostPolicy[] {
  const parts = text.split(/\s+/).filter((part) => part !== "");
  return parts.map((part) => {
    const [, policy, host] = /^(deny|ask|allow)=((?:\*\.)?[a-z0-9.-]+)$/.exec(part) ?? [];
    const known = documentPolicies.find((each) => each === policy);
    if (known === undefined || host === undefined || host.endsWith(".")) {
      throw new Error(
        `${name} must be deny=, ask= or allow= and a host name without a final dot, separated by spaces, not "${part}"`,
      );
    }
    return { policy: known, host };
  });
}

/** The consequence of a failed hook: the provider continues without it, or refuses. */
type HookFailure = "open" | "closed";

/** The hooks that `ENABLED_HOOKS` names. `undefined`: what follows its failure cannot be chosen. */
const failures = {
  claims: "open",
  beforeSignIn: "closed",
  afterSignUp: undefined,
  legacyPassword: undefined,
} as const satisfies Readonly<Record<string, HookFailure | undefined>>;

type ListedHook = keyof typeof failures;
type EnabledHooks = Readonly<Partial<Record<ListedHook, HookFailure>>>;

const listedHooks = Object.keys(failures) as readonly ListedHook[];

/** `claims=closed legacyPassword`: the hooks that are called, and what follows if one fails. */
export function parseEnabledHooks(name: string, text: string): EnabledHooks {
  const parts = text.split(/\s+/).filter((part) => part !== "");
  const enabled = parts.map((part): [ListedHook, HookFailure] => {
    const [, given, failure] = /^(\w+)(?:=(open|closed))?$/.exec(part) ?? [];
    const hook = listedHooks.find((each) => each === given);
    const usual = hook && failures[hook];
    if (hook === undefined || (failure !== undefined && usual === undefined)) {
      throw new Error(
        `${name} must be ${listedHooks.join(", ")}, separated by spaces; =open or =closed after claims and beforeSignIn; not "${part}"`,
      );
    }
    return [hook, (failure as HookFailure | undefined) ?? usual ?? "closed"];
  });
  return Object.fromEntries(enabled);
}

/**
 * **The types of authorization details that a deployment knows** (`AUTHORIZATION_DETAILS_TYPES`): for each type, the form of a request's object and
 * its description for users.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9396#section-5
 */

interface AuthorizationType {
  /**
   * A JSON Schema (2020-12) of the whole object; absent: any object. A property's `title` is its label on the consent page, `title#de` the one in
   * German.
   */
  readonly schema?: Readonly<Record<string, unknown>>;
  /** By language; shown instead of the type's name. */
  readonly description?: Readonly<Record<string, string>>;
  /** Whether a user who has allowed an object is not asked again for the same one. By default, the user decides each time. */
  readonly remember?: boolean;
}

export type AuthorizationTypes = Readonly<Record<string, AuthorizationType>>;

/** A Worker's variable has at most 5 KB. */
const typesAtMost = 50;

/** Throws an `Error` that names the variable, because it is a mistake of the deployment. */
export function parseAuthorizationTypes(name: string, text: string): AuthorizationTypes {
  const types = requireObject(name, parseJson(name, text));
  if (Object.keys(types).length > typesAtMost) throw new Error(`${name} has more than ${typesAtMost} types`);
  return Object.fromEntries(
    Object.entries(types).map(([type, value]) => [type, readType(`${name}: ${type}`, requireObject(name, value))]),
  );
}

function readType(name: string, value: Readonly<Record<string, unknown>>): AuthorizationType {
  const { schema, description, remember, ...others } = value;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new Error(`${name} has an unknown member "${unknown}"`);
  if (remember !== undefined && typeof remember !== "boolean")
    throw new Error(`${name}.remember must be true or false`);
  return {
    ...(remember === undefined ? {} : { remember }),
    ...(schema === undefined ? {} : { schema: requireObject(`${name}.schema`, schema) }),
    ...(description === undefined ? {} : { description: readDescription(`${name}.description`, description) }),
  };
}

function readDescription(name: string, value: unknown): Readonly<Record<string, string>> {
  if (typeof value === "string") return { en: value };
  const texts = Object.entries(requireObject(name, value));
  if (!texts.every((pair): pair is [string, string] => typeof pair[1] === "string")) {
    throw new Error(`${name} must be a text, or texts by language`);
  }
  return Object.fromEntries(texts);
}

function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`${name} must be a JSON object`, { cause });
  }
}

function requireObject(name: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`${name} must be a JSON object`);
  }
  return value as Readonly<Record<string, unknown>>;
}

export function parseOrigin(name: string, text: string): string {
  if (!URL.canParse(text)) throw new Error(`${name} must be an origin`);
  const url = new URL(text);
  const local = url.hostname === "localhost" || url.hostname === "127.0.0.1" || url.hostname === "[::1]";
  if (url.protocol !== "https:" && !(local && url.protocol === "http:")) {
    throw new Error(`${name} must be https, except on localhost`);
  }
  if (text !== url.origin) {
    throw new Error(`${name} must be an origin: scheme, host and port in lower case, no path and no trailing slash`);
  }
  return text;
}

export function parseMailAddress(name: string, text: string): string {
  if (!/^[^\s@<>",;:]+@[a-z0-9.-]+$/i.test(text)) throw new Error(`${name} must be a mail address, not "${text}"`);
  return text;
}

export function parseHashes(name: string, text: string): readonly string[] {
  const hashes = text.split(" ").filter((hash) => hash !== "");
  if (!hashes.every((hash) => /^[0-9a-f]{64}$/.test(hash)))
    throw new Error(`${name} must be SHA-256 hashes in hexadecimal`);
  return hashes;
}
