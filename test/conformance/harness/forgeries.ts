import { createHmac, randomBytes } from "node:crypto";
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { claimsOf, headerOf } from "./actors.ts";

/**
 * **Tokens that no verifier may take**, made from a good one as an attacker would make them, named for the attack.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8725#section-2
 */
function encode(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}

function withHeader(token: string, change: Readonly<Record<string, unknown>>): string {
  const [, payload, signature] = token.split(".");
  return `${encode({ ...headerOf(token), ...change })}.${payload}.${signature}`;
}

async function signedWith(token: string, privateKey: CryptoKey, alg: string, claims: JWTPayload = {}): Promise<string> {
  return new SignJWT({ ...claimsOf(token), ...claims })
    .setProtectedHeader({ ...headerOf(token), alg } as { alg: string })
    .sign(privateKey);
}

/** The last character's unused bits, which a lenient decoder ignores. */
function respellLastCharacter(token: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const last = alphabet.indexOf(token.at(-1)!);
  return token.slice(0, -1) + alphabet[last ^ 1]!;
}

export async function forgeries(
  token: string,
  jwks: { readonly keys: readonly JsonWebKey[] },
): Promise<[string, string][]> {
  const [header, payload, signature] = token.split(".") as [string, string, string];
  const own = await generateKeyPair("ES256", { extractable: true });
  const rsa = await generateKeyPair("RS256");
  const ownJwk = await exportJWK(own.publicKey);
  const hmac = (key: string): string => {
    const input = `${encode({ ...headerOf(token), alg: "HS256" })}.${payload}`;
    return `${input}.${createHmac("sha256", key).update(input).digest("base64url")}`;
  };
  const unsigned = (alg: string): string => `${encode({ ...headerOf(token), alg })}.${payload}.`;
  return [
    ...["none", "None", "NONE", "nOnE"].map((alg): [string, string] => [`alg ${alg}`, unsigned(alg)]),
    ["alg none with the signature left in place", withHeader(token, { alg: "none" })],
    ...jwks.keys.map((key, index): [string, string] => [
      `HS256 keyed with public key ${index}`,
      hmac(JSON.stringify(key)),
    ]),
    ["HS256 keyed with nothing", hmac("")],
    ["an ES256 token that says RS256", withHeader(token, { alg: "RS256" })],
    ["an RS256 signature under the kid of an ES256 key", await signedWith(token, rsa.privateKey, "RS256")],
    ["signed by another key under our kid", await signedWith(token, own.privateKey, "ES256")],
    ["another key brought along as jwk", withHeader(await signedWith(token, own.privateKey, "ES256"), { jwk: ownJwk })],
    ["a kid that nobody has", withHeader(token, { kid: randomBytes(16).toString("base64url") })],
    ["a crit that is not understood", withHeader(token, { crit: ["b64"], b64: false })],
    ["truncated by a character", token.slice(0, -1)],
    ["extended by a character", `${token}A`],
    ["padded", `${token}=`],
    ["the signature's last character spelt differently", respellLastCharacter(token)],
    ["the signature left out", `${header}.${payload}.`],
    ["a part too many", `${token}.${signature}`],
    ["a part too few", `${header}.${payload}`],
    ["white space inside", `${header}. ${payload}.${signature}`],
    [
      "another payload under the same signature",
      `${header}.${encode({ ...claimsOf(token), sub: "someone else" })}.${signature}`,
    ],
    [
      "a jti of a generation that does not exist",
      `${header}.${encode({ ...claimsOf(token), jti: "g99:wnam:0:a.b" })}.${signature}`,
    ],
    ["not a token at all", "not-a-token"],
    [
      "a JWE",
      `${encode({ alg: "PBES2-HS256+A128KW", enc: "A128GCM", p2c: 10_000_000, p2s: "AAAA" })}.AAAA.AAAA.AAAA.AAAA`,
    ],
  ];
}
