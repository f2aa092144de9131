import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import type { CustomFetch } from "openid-client";
import type { UpstreamKind } from "./kinds.ts";

type Endpoints = NonNullable<UpstreamKind["endpoints"]>;

/** GitHub refuses a request without it. */
const agent = "edge-op";

/**
 * **Who a person is at a provider without ID tokens** (GitHub): their number, names, and their primary address if it is verified. Cost: 2 fetches, beside
 * each other.
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
