import { type Branding, type BrandingVariables, brandingSettings, readBranding } from "@edge-op/pages/branding";
import {
  oneOf,
  outOfRange,
  readAll,
  type SettingsOf,
  setting,
  type VariablesOf,
  wholeNumber,
} from "@edge-op/shared/config/setting";
import type { SessionLifetime } from "@edge-op/shared/sessions/sessions";
import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";

/**
 * **The settings of op-auth alone**: branding, session lifetimes, second factors, new browsers, sign-up and terms. Read and checked once per isolate.
 */
export interface Deployment extends Branding {
  readonly session: SessionLifetime;
  readonly secondFactor: SettingsOf<typeof secondFactorSettings>;
  readonly signUp: SettingsOf<typeof signUpSettings>;
  readonly newBrowser: SettingsOf<typeof browserSettings>["newBrowser"];
  readonly signInPage: SettingsOf<typeof layoutSettings>["signInPage"];
  /** The terms that people must have agreed to. */
  readonly terms: Terms | undefined;
}

export interface Terms {
  readonly version: string;
  readonly url: string;
}

const longestSessionSeconds = 30 * 86_400;
const defaultIdleSeconds = 86_400;

const sessionSettings = {
  idleSeconds: wholeNumber("SESSION_IDLE", {
    default: defaultIdleSeconds,
    min: 60,
    max: longestSessionSeconds,
    unit: "seconds",
    meaning:
      "A session ends after this long without use, or up to 1/32 earlier, because not every use is written. At most `SESSION_LIFETIME`, which is the default where it is shorter.",
  }),
  absoluteSeconds: wholeNumber("SESSION_LIFETIME", {
    default: 14 * 86_400,
    min: 60,
    max: longestSessionSeconds,
    unit: "seconds",
    meaning: "A session ends this long after the sign-in, however much it is used.",
  }),
};

const secondFactorSettings = {
  mfa: oneOf("MFA", ["optional", "required"], {
    default: "optional",
    meaning:
      "`required`: every sign-in needs two factors: a passkey, or a password and the code of an app. A person who has none sets up an app at the next sign-in. `optional`: only those who have set up an app are asked, and those whom a client or a role requires it of. See [second factors](../operating/second-factors.md).",
  }),
  mfaRoles: setting("MFA_ROLES", {
    default: "",
    accepts: "roles, separated by spaces",
    meaning: "People with one of these roles always need two factors, also in remembered browsers.",
    parse: (_, text) => text.split(" ").filter((role) => role !== ""),
  }),
  recovery: oneOf("RECOVERY", ["factors", "address"], {
    default: "factors",
    meaning:
      "What a person without a password, or with an app, needs beside a mailed code to set a new password. `factors`: a code of the app, or a recovery code. `address`: without one, nothing else, a day after they have asked for it; all their addresses and sessions are told, and any of them can stop it. Not with `MFA=required`, nor for people who need two factors. Needs `MAIL_PROVIDER`. See [recovery by address](../operating/second-factors.md#recovery-by-address).",
  }),
  rememberDeviceDays: wholeNumber("REMEMBER_DEVICE_DAYS", {
    default: 0,
    min: 0,
    max: 90,
    meaning:
      "For how many days a person may let a browser skip the second factor. It applies to `MFA` and to a person's own app, never to what a client or a role requires. 0: not offered.",
  }),
};

const browserSettings = {
  newBrowser: oneOf("NEW_BROWSER", ["off", "notify", "code"], {
    default: "notify",
    meaning:
      "What happens when a person signs in in a browser in which they have not for 180 days. `notify`: they are told by mail. `code`: after a password alone they also need a code that is mailed to them, and are told. `off`: nothing. `notify` and `code` need `MAIL_PROVIDER`, and a person whose address is verified. See [new browsers](../operating/signing-in.md#new-browsers).",
  }),
};

const layoutSettings = {
  signInPage: oneOf("SIGN_IN_PAGE", ["password", "providers", "identifier"], {
    default: "password",
    meaning:
      "How the sign-in page begins. `password`: with name and password, above the upstream providers. `providers`: with the providers. `identifier`: with the name alone; an address whose domain an upstream provider lists with `discovery` leads there, any other name to a page for the password. See [the name first](../operating/signing-in.md#the-name-first).",
  }),
};

const signUpSettings = {
  domains: setting("SIGN_UP_DOMAINS", {
    default: "",
    accepts: "domains (`example.com`), separated by spaces",
    meaning:
      "With `SIGN_UP=open`, the domains of the e-mail addresses that may create an account; exactly these, no subdomains. Empty: any. An invitation may name another address.",
    parse: parseDomains,
  }),
  methods: setting("SIGN_UP_METHODS", {
    default: "passkey password",
    accepts: "`passkey`, `password`, or both, separated by a space",
    meaning: "How a new account may sign in. A browser without passkeys, or without JavaScript, needs `password`.",
    parse: parseMethods,
  }),
};

function parseDomains(name: string, text: string): readonly string[] {
  const domains = text.split(" ").filter((domain) => domain !== "");
  const wrong = domains.find((domain) => parseEmailAddress(`a@${domain}`)?.key !== `a@${domain}`);
  if (wrong !== undefined) throw new Error(`${name} must be domains in lower case, IDNs as xn--, not "${wrong}"`);
  return domains;
}

const signUpMethodNames = ["passkey", "password"] as const;

function parseMethods(name: string, text: string): readonly (typeof signUpMethodNames)[number][] {
  const given = text.split(" ").filter((method) => method !== "");
  const methods = signUpMethodNames.filter((method) => given.includes(method));
  if (methods.length === 0 || methods.length < given.length) {
    throw new Error(`${name} must be passkey, password, or both, not "${text}"`);
  }
  return methods;
}

const termsSettings = {
  termsVersion: setting("TERMS_VERSION", {
    accepts: "a text of at most 32 characters (`2026-11`)",
    meaning:
      "The version of the terms at `TERMS_URL` that is in force. People agree to it when they create an account, and again at their next sign-in after it has changed. Without one: nobody is asked. See [terms and privacy](../operating/sign-up.md#terms-and-privacy).",
    parse: parseVersion,
  }),
};

function parseVersion(name: string, text: string): string {
  if (!/^[!-~]{1,32}$/.test(text)) {
    throw new Error(`${name} must be at most 32 ASCII characters without spaces, not "${text}"`);
  }
  return text;
}

export const pageSettings = {
  ...brandingSettings,
  ...sessionSettings,
  ...secondFactorSettings,
  ...browserSettings,
  ...layoutSettings,
  ...signUpSettings,
  ...termsSettings,
};

export type DeploymentVariables = VariablesOf<typeof pageSettings> & BrandingVariables;

const known = new WeakMap<object, Deployment>();

export function readDeployment(env: DeploymentVariables): Deployment {
  const cached = known.get(env);
  if (cached !== undefined) return cached;
  const branding = readBranding(env);
  const deployment: Deployment = {
    ...branding,
    session: readSessionLifetime(env),
    secondFactor: readSecondFactor(env),
    ...readAll(browserSettings, env),
    ...readAll(layoutSettings, env),
    signUp: readAll(signUpSettings, env),
    terms: readTerms(env, branding.termsUrl),
  };
  known.set(env, deployment);
  return deployment;
}

function readSecondFactor(env: DeploymentVariables): Deployment["secondFactor"] {
  const read = readAll(secondFactorSettings, env);
  if (read.recovery === "address" && read.mfa === "required") {
    throw new Error("RECOVERY=address and MFA=required exclude each other: a mailbox would stand for two factors");
  }
  return read;
}

function readTerms(env: DeploymentVariables, url: string | undefined): Terms | undefined {
  const { termsVersion: version } = readAll(termsSettings, env);
  if (version === undefined) return undefined;
  if (url === undefined) throw new Error("TERMS_VERSION needs TERMS_URL");
  return { version, url };
}

function readSessionLifetime(env: DeploymentVariables): SessionLifetime {
  const { idleSeconds: given, absoluteSeconds } = readAll(sessionSettings, env);
  const idleSeconds = env.SESSION_IDLE ? given : Math.min(defaultIdleSeconds, absoluteSeconds);
  if (idleSeconds > absoluteSeconds) {
    throw outOfRange("SESSION_IDLE", String(idleSeconds), { min: 60, max: absoluteSeconds });
  }
  return { idleMs: idleSeconds * 1000, absoluteMs: absoluteSeconds * 1000 };
}
