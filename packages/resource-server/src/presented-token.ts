import type { Scheme } from "./challenges.ts";

export type Presented =
  | { readonly kind: "token"; readonly scheme: Scheme; readonly token: string }
  | { readonly kind: "malformed"; readonly scheme: Scheme }
  | { readonly kind: "none" };

const longestToken = 16_384;

/**
 * **The access token of a request**: only from the `Authorization` header. A token in the URL or in a form is ignored (RFC 9700 §4.3.2), and the
 * response is that of a request without a token.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export function readPresentedToken(headers: Headers): Presented {
  const header = headers.get("Authorization");
  const name = header === null ? undefined : /^(Bearer|DPoP)(?: |$)/i.exec(header)?.[1];
  if (header === null || name === undefined) return { kind: "none" };
  const scheme = name.toLowerCase() === "dpop" ? "DPoP" : "Bearer";
  const token = /^ +([\w\-.~+/]+=*) *$/.exec(header.slice(name.length))?.[1];
  if (token === undefined || token.length > longestToken) return { kind: "malformed", scheme };
  return { kind: "token", scheme, token };
}
