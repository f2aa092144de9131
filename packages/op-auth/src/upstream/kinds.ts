import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import { fixedIssuers, type Upstream, type UpstreamDocument } from "@edge-op/shared/upstreams/upstream";
import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import type { CustomFetch } from "openid-client";

/** **A person as an upstream provider describes them**, after its response was verified. */
export interface UpstreamPerson {
  /** With the subject the key of the identity. */
  readonly issuer: string;
  readonly subject: string;
  readonly address: UpstreamAddress | undefined;
  /** The `acr` of the ID token. */
  readonly acr: string | undefined;
  readonly authTimeMs: number | undefined;
  /** `sid` and `iat` of the ID token, in seconds of the provider's clock. */
  readonly sid: string | undefined;
  readonly issuedAt: number | undefined;
  /** All claims, unchecked. */
  readonly claims: JsonObject;
}

export interface UpstreamAddress {
  readonly address: string;
  /** Whether this provider believes that the address belongs to the person. */
  readonly isBelieved: boolean;
}

/** The domain of an address, in lower case and as A-label; `undefined` for text that is no address. */
export function domainOf(address: string): string | undefined {
  return parseEmailAddress(address)?.key.split("@")[1];
}

/** Whether the record's list contains the domain of an address. */
export function isTrustedDomain({ document }: Upstream, address: string): boolean {
  const domain = domainOf(address);
  return domain !== undefined && document.trusted_domains.some((each) => each === "*" || each === domain);
}

/** **How providers of a kind differ**: everything else is OpenID Connect by discovery. */
interface UpstreamKind {
  /** The URL below which its metadata is. */
  issuerOf(document: UpstreamDocument): string;
  readonly scopes: readonly string[];
  /** The `prompt` for a new authentication, or at least for a choice of account; absent if the provider has none. */
  readonly promptAgain?: "login" | "select_account";
  /** It posts its response, because it sends a name in it. */
  readonly isPosting?: true;
  /** Endpoints of a provider without metadata and ID tokens. */
  readonly endpoints?: {
    readonly authorization_endpoint: string;
    readonly token_endpoint: string;
    /** The URLs of the person and of their addresses. */
    readonly user: string;
    readonly emails: string;
  };
  /** Whether the person is one of those whom the record admits. */
  admits?(document: UpstreamDocument, claims: JsonObject): boolean;
  /** Whether the address of verified claims belongs to the person. */
  isBelieved(upstream: Upstream, claims: JsonObject, address: string): boolean;
}

const oidc: UpstreamKind = {
  issuerOf: ({ issuer = "" }) => issuer,
  scopes: ["openid", "profile", "email"],
  promptAgain: "login",
  // A flag alone: a text would be true too (GHSA-992q-9gwp-7r79).
  isBelieved: (upstream, { email_verified: isVerified }, address) =>
    isVerified === true && isTrustedDomain(upstream, address),
};

/**
 * Google is the authority of an address at gmail.com, and of one in an organization (`hd`). Any other address it has only verified once.
 *
 * @see https://developers.google.com/identity/gsi/web/guides/verify-google-id-token
 */
const google: UpstreamKind = {
  issuerOf: () => fixedIssuers.google,
  scopes: ["openid", "profile", "email"],
  promptAgain: "select_account",
  isBelieved: (_, { email_verified: isVerified, hd }, address) =>
    isVerified === true && (domainOf(address) === "gmail.com" || (typeof hd === "string" && hd !== "")),
};

/**
 * A directory's administrator can write any `email`: it is believed only if its domain is one of the directory (`xms_edov`, an optional claim). The
 * issuer contains the directory (`tid`), so the same `sub` in another one is another person.
 *
 * @see https://learn.microsoft.com/en-us/entra/identity-platform/optional-claims-reference
 */
const microsoft: UpstreamKind = {
  issuerOf: ({ tenants = [] }) => `https://login.microsoftonline.com/${pathOfTenants(tenants)}/v2.0`,
  scopes: ["openid", "profile", "email"],
  promptAgain: "login",
  admits: ({ tenants = [] }, { tid }) => typeof tid === "string" && tenants.includes(tid.toLowerCase()),
  isBelieved: (_, { xms_edov: isOwned }) => isOwned === true || isOwned === "1",
};

/** The directory of personal accounts, whose people `organizations` does not admit. */
const personalTenant = "9188040d-6c67-4c5b-b112-36a304b66dad";

function pathOfTenants(tenants: readonly string[]): string {
  if (tenants.length === 1) return tenants[0]!;
  return tenants.includes(personalTenant) ? "common" : "organizations";
}

/**
 * The name comes in the posted response, at the first sign-in only and unsigned: it is used as a name and nothing else. Its flags may be text.
 *
 * @see https://developer.apple.com/documentation/signinwithapple/authenticating-users-with-sign-in-with-apple
 */
const apple: UpstreamKind = {
  issuerOf: () => fixedIssuers.apple,
  scopes: ["openid", "name", "email"],
  isPosting: true,
  isBelieved: (_, { email_verified: isVerified }) => isVerified === true || isVerified === "true",
};

/**
 * No ID token: the person is the number of their account, because a name can be given up and taken by someone else. GitHub verifies addresses by
 * mail.
 *
 * @see https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 */
const github: UpstreamKind = {
  issuerOf: () => fixedIssuers.github,
  scopes: ["read:user", "user:email"],
  promptAgain: "select_account",
  endpoints: {
    authorization_endpoint: "https://github.com/login/oauth/authorize",
    token_endpoint: "https://github.com/login/oauth/access_token",
    user: "https://api.github.com/user",
    emails: "https://api.github.com/user/emails",
  },
  isBelieved: (_, { email_verified: isVerified }) => isVerified === true,
};

export const upstreamKinds: Readonly<Record<UpstreamDocument["kind"], UpstreamKind>> = {
  ...{ oidc, google, microsoft, apple, github },
};

type Endpoints = NonNullable<UpstreamKind["endpoints"]>;

/** GitHub refuses a request without it. */
const agent = "edge-op";

/**
 * **Who a person is at a provider without ID tokens** (GitHub): their number, names, and their primary address if it is verified. Cost: 2 fetches,
 * beside each other.
 */
export async function readUser(
  fetch: CustomFetch,
  issuer: string,
  { user: userUrl, emails: emailsUrl }: Endpoints,
  accessToken: string,
): Promise<JsonObject & { readonly iss: string; readonly sub: string }> {
  const read = (url: string) => readJson(fetch, url, accessToken);
  const [user, emails] = await Promise.all([read(userUrl), read(emailsUrl)]);
  // The number, never the name: names are given up and taken again.
  if (!isJsonObject(user) || !Number.isSafeInteger(user["id"])) throw new Error(`${userUrl}: no id`);
  const { id, name, login, avatar_url: picture, html_url: profile } = user;
  const all: readonly unknown[] = Array.isArray(emails) ? emails : [];
  const primary = all.filter(isJsonObject).find((each) => each["primary"] === true && each["verified"] === true);
  const address = primary === undefined ? {} : { email: primary["email"], email_verified: true };
  return { ...{ iss: issuer, sub: String(id), name, preferred_username: login, picture, profile }, ...address };
}

async function readJson(fetch: CustomFetch, url: string, accessToken: string): Promise<unknown> {
  const headers = {
    accept: "application/vnd.github+json",
    authorization: `Bearer ${accessToken}`,
    "user-agent": agent,
  };
  const response = await fetch(url, { method: "GET", headers, body: undefined, redirect: "manual" });
  if (response.status !== 200) throw new Error(`${url}: status ${response.status}`);
  return response.json();
}
