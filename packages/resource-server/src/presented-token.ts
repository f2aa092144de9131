import type { Scheme } from "./challenges.ts";

/**
 * **The access token of a request**: in the `Authorization` header alone. A token in the URL or in a form is ignored (RFC 9700 §4.3.2), and
 * the response is then that of a request without one.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export type Presented =
  | { readonly kind: "token"; readonly scheme: Scheme; readonly token: string }
  | { readonly kind: "malformed"; readonly scheme: Scheme }
  | { readonly kind: "none" };

const longestToken = 16_384;

export function readPresentedToken(headers: Headers): Presented {
  const header = headers.get("Authorization");
  const name = header === null ? undefined : /^(Bearer|DPoP)(?: |$)/i.exec(header)?.[1];
  if (header === null || name === undefined) return { kind: "none" };
  const scheme = name.toLowerCase() === "dpop" ? "DPoP" : "Bearer";
  const token = /^ +([\w\-.~+/]+=*) *$/.exec(header.slice(name.length))?.[1];
  if (token === undefined || token.length > longestToken) return { kind: "malformed", scheme };
  return { kind: "token", scheme, token };
}
