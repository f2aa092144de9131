/**
 * **The TXT record that proves a domain**, at `_edge-op.{domain}`: a MAC of the issuer, the organisation and the domain, so nothing is stored that
 * could be stolen. Its key is the one that is never replaced, so a record stays right when `OP_MASTER_KEY` is replaced. Looked up by DNS over HTTPS
 * at two resolvers. Cost of a look-up: 2 fetches in parallel.
 *
 * @see https://developers.cloudflare.com/1.1.1.1/encryption/dns-over-https/make-api-requests/dns-json/
 */

import { isNumber, isText, listOf, objectOf } from "@edge-op/protocol/encoding/stored-json";
import { fetchClientUrl } from "@edge-op/shared/http/fetch-client-url";
import { macText } from "@edge-op/shared/secrets/mac";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { type Answer, agree } from "./domain-rule.ts";

export const recordName = (domain: string): string => `_edge-op.${domain}`;

interface Claimed {
  readonly issuer: string;
  readonly orgId: string;
  readonly domain: string;
}

export function recordValue(env: MasterKeyBindings, { issuer, orgId, domain }: Claimed): Promise<string> {
  return macText(env, "pairwise-mac", `domain:${issuer}\n${orgId}\n${domain}`);
}

/** With the JSON form of their answers. Two operators, so that neither of them can verify a domain alone. */
export const usualResolvers = ["https://cloudflare-dns.com/dns-query", "https://dns.google/resolve"] as const;

const rules = { timeoutMs: 2_500, bodyBytes: 16 * 1024 };
const answered = 0;
const noSuchName = 3;
const txt = 16;

interface Reply {
  readonly Status: number;
  readonly TC?: unknown;
  readonly Answer?: readonly { readonly type: number; readonly data: string }[];
}

const isReply = objectOf<Reply>({ Status: isNumber });
const isAnswers = listOf(objectOf<{ readonly type: number; readonly data: string }>({ type: isNumber, data: isText }));

/** Whether the record of an organisation is there: only if both resolvers say so, and it is absent only if both do. */
export async function lookUpRecord(
  env: MasterKeyBindings,
  claimed: Claimed,
  resolvers: readonly string[] = usualResolvers,
): Promise<Answer> {
  const value = await recordValue(env, claimed);
  const query = new URLSearchParams({ name: recordName(claimed.domain), type: "TXT" });
  const ask = async (resolver: string): Promise<Answer> => {
    const headers = { accept: "application/dns-json" };
    const result = await fetchClientUrl(`${resolver}?${query}`, claimed.issuer, { headers, rules });
    return result.kind === "response" && result.status === 200 ? readAnswer(result.body, value) : "unknown";
  };
  return agree(await Promise.all(resolvers.map(ask)));
}

function readAnswer(body: string, value: string): Answer {
  const reply = parse(body);
  if (!isReply(reply) || reply.TC === true) return "unknown";
  if (reply.Status === noSuchName) return "absent";
  const { Answer: answers = [] } = reply;
  if (reply.Status !== answered || !isAnswers(answers)) return "unknown";
  return answers.some(({ type, data }) => type === txt && textOf(data) === value) ? "present" : "absent";
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Some resolvers quote each string of a TXT record, and some do not. */
function textOf(data: string): string {
  return data.startsWith('"') ? [...data.matchAll(/"([^"]*)"/g)].map(([, part]) => part).join("") : data;
}
