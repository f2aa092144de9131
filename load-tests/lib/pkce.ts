import crypto from "k6/crypto";
import encoding from "k6/encoding";

/** **A fresh verifier and its S256 challenge.** @see https://www.rfc-editor.org/rfc/rfc7636#section-4 */
export function newPkce(): { readonly verifier: string; readonly challenge: string } {
  const verifier = encoding.b64encode(crypto.randomBytes(32), "rawurl");
  return { verifier, challenge: crypto.sha256(verifier, "base64rawurl") };
}

export function formEncode(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join("&");
}
