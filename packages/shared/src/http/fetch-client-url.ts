import { limits } from "../config/limits.ts";
import { refuseClientUrl } from "./client-url.ts";

export type ClientUrlResult =
  | { readonly kind: "response"; readonly status: number; readonly headers: Headers; readonly body: string }
  /** Not allowed, redirected, or too large; a retry would not help. */
  | { readonly kind: "refused"; readonly reason: string }
  /** No complete response in time. */
  | { readonly kind: "failed"; readonly reason: string };

export interface FetchRules {
  readonly timeoutMs: number;
  /** The size of the decoded body. */
  readonly bodyBytes: number;
}

export interface ClientUrlRequest {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly rules?: FetchRules;
  /** `base64` for a response that is not text. */
  readonly encoding?: "utf-8" | "base64";
}

const usualRules: FetchRules = { timeoutMs: limits.outboundFetchMs, bodyBytes: limits.outboundFetchBytes };

/**
 * **The one fetcher of URLs that others choose** (jwks_uri, sector identifiers, logout endpoints, client metadata, logos, issuers): public hosts
 * only, no redirects, no cookies or credentials, and a time and a size limit for the whole response. The size is that of the decoded body, so a
 * compressed body cannot exceed it. It never throws: the failure of another server is a result, not a 5xx.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.11
 */
export async function fetchClientUrl(
  url: string,
  issuer: string,
  { method = "GET", headers = {}, body, rules = usualRules, encoding = "utf-8" }: ClientUrlRequest = {},
): Promise<ClientUrlResult> {
  const refusal = refuseClientUrl(url, issuer);
  if (refusal !== undefined) return { kind: "refused", reason: refusal };
  const signal = AbortSignal.timeout(rules.timeoutMs);
  try {
    const response = await fetch(url, {
      method,
      headers,
      // A redirect could lead to an address that is not allowed, so its response is returned unchanged.
      redirect: "manual",
      signal,
      ...(body === undefined ? {} : { body }),
    });
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      return { kind: "refused", reason: `redirects with ${response.status}` };
    }
    const bytes = await readBounded(response, rules.bodyBytes, signal);
    if (bytes === undefined) return { kind: "refused", reason: `more than ${rules.bodyBytes} bytes` };
    return { kind: "response", status: response.status, headers: response.headers, body: decode(bytes, encoding) };
  } catch (cause) {
    return { kind: "failed", reason: String(cause) };
  }
}

/** `application/json` and the types derived from it by RFC 6839 §3.1. */
export function isJsonType(contentType: string): boolean {
  const type = contentType.split(";", 1)[0]!.trim().toLowerCase();
  return type === "application/json" || /^application\/[a-z0-9!#$&^_.-]+\+json$/.test(type);
}

function decode(chunks: readonly Uint8Array[], encoding: "utf-8" | "base64"): string {
  if (encoding === "base64") return btoa(chunks.map((chunk) => chunk.reduce(appendCharacter, "")).join(""));
  const decoder = new TextDecoder();
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
}

function appendCharacter(text: string, byte: number): string {
  return text + String.fromCharCode(byte);
}

async function readBounded(
  response: Response,
  mostBytes: number,
  signal: AbortSignal,
): Promise<readonly Uint8Array[] | undefined> {
  if (response.body === null) return [];
  const reader = response.body.getReader();
  // Closing the stream ends a read that is waiting for a silent server.
  signal.addEventListener("abort", () => void reader.cancel(signal.reason).catch(() => undefined), { once: true });
  let size = 0;
  const chunks: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    signal.throwIfAborted();
    if (done) return chunks;
    size += value.byteLength;
    if (size > mostBytes) {
      await reader.cancel();
      return undefined;
    }
    chunks.push(value);
  }
}
