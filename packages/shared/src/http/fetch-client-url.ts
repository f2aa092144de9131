import { limits } from "../config/limits.ts";
import { refuseClientUrl } from "./client-url.ts";

/**
 * **Fetches a URL that a client registered** (jwks_uri, request_uri, sector identifier, logout): public hosts only, no redirects,
 * at most 2.5 s and 64 KiB. Never throws: a failure of a client's server is a result, not a 5xx.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.11
 */
export type ClientUrlResult =
  | { readonly kind: "response"; readonly status: number; readonly contentType: string; readonly body: string }
  | { readonly kind: "failed"; readonly reason: string };

export interface ClientUrlRequest {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export async function fetchClientUrl(
  url: string,
  issuer: string,
  { method = "GET", headers = {}, body }: ClientUrlRequest = {},
): Promise<ClientUrlResult> {
  const refusal = refuseClientUrl(url, issuer);
  if (refusal !== undefined) return { kind: "failed", reason: refusal };
  const signal = AbortSignal.timeout(limits.outboundFetchMs);
  try {
    const response = await fetch(url, {
      method,
      headers,
      // A redirect could lead to an address that is not allowed, so its response is returned as it is.
      redirect: "manual",
      signal,
      ...(body === undefined ? {} : { body }),
    });
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      return { kind: "failed", reason: `redirects with ${response.status}` };
    }
    const text = await readBounded(response, signal);
    if (text === undefined) return { kind: "failed", reason: `more than ${limits.outboundFetchBytes} bytes` };
    return {
      kind: "response",
      status: response.status,
      contentType: response.headers.get("content-type") ?? "",
      body: text,
    };
  } catch (cause) {
    return { kind: "failed", reason: String(cause) };
  }
}

async function readBounded(response: Response, signal: AbortSignal): Promise<string | undefined> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  // Closing the stream ends a read that waits for a silent server.
  signal.addEventListener("abort", () => void reader.cancel(signal.reason).catch(() => undefined), { once: true });
  let size = 0;
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    signal.throwIfAborted();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > limits.outboundFetchBytes) {
      await reader.cancel();
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}
