import { insertPasskey } from "@edge-op/shared/directory/credentials";
import { decodeBase64Url, encodeBase64Url, encodeUtf8, sha256 } from "@edge-op/shared/runtime/bytes";
import { authEnv, origin } from "./auth-world.ts";

/** **An authenticator in software**: one Ed25519 passkey of one person, user verified at every touch. */
export class SoftwarePasskey {
  readonly id = encodeBase64Url(crypto.getRandomValues(new Uint8Array(16)));
  readonly #sub: string;
  readonly #keys: CryptoKeyPair;
  #signCount = 0;

  private constructor(sub: string, keys: CryptoKeyPair) {
    this.#sub = sub;
    this.#keys = keys;
  }

  static async register(sub: string): Promise<SoftwarePasskey> {
    const keys = await crypto.subtle.generateKey({ name: "Ed25519" }, true, ["sign", "verify"]);
    if (!("privateKey" in keys)) throw new Error("no key pair");
    const passkey = new SoftwarePasskey(sub, keys);
    await insertPasskey(authEnv.DB, {
      credentialId: passkey.id,
      sub,
      publicKey: await coseKey(keys.publicKey),
      signCount: 0,
      transports: ["internal"],
      backedUp: false,
      name: "Software",
      createdAtMs: 0,
      lastUsedAtMs: undefined,
    });
    return passkey;
  }

  /** The credential that a browser's script would post for this sign-in page. */
  async assert(page: string): Promise<string> {
    this.#signCount += 1;
    const clientData = encodeUtf8(
      JSON.stringify({ type: "webauthn.get", challenge: challengeOf(page), origin, crossOrigin: false }),
    );
    const authenticatorData = concatenate([
      await sha256(new URL(origin).hostname),
      // WebAuthn §6.1: user present and verified.
      Uint8Array.of(0b101),
      Uint8Array.of(0, 0, 0, this.#signCount),
    ]);
    const signed = concatenate([authenticatorData, new Uint8Array(await crypto.subtle.digest("SHA-256", clientData))]);
    const signature = await crypto.subtle.sign("Ed25519", this.#keys.privateKey, signed);
    return JSON.stringify({
      id: this.id,
      rawId: this.id,
      type: "public-key",
      clientExtensionResults: {},
      response: {
        clientDataJSON: encodeBase64Url(clientData),
        authenticatorData: encodeBase64Url(authenticatorData),
        signature: encodeBase64Url(new Uint8Array(signature)),
        userHandle: encodeBase64Url(await sha256(`passkey user\n${this.#sub}`)),
      },
    });
  }

  /** What someone may send who knows all of it but the key. */
  async forge(page: string): Promise<string> {
    return (await this.assert(page)).replace(/"signature":"[^"]+"/, `"signature":"${"A".repeat(86)}"`);
  }
}

function challengeOf(page: string): string {
  const challenge = /&quot;challenge&quot;:&quot;([^&]+)&quot;/.exec(page)?.[1];
  if (challenge === undefined) throw new Error("no passkey options on the page");
  return challenge;
}

/** RFC 9053 §7.2: an OKP key, {1: 1, 3: -8, -1: 6, -2: x}. */
async function coseKey(key: CryptoKey): Promise<string> {
  const { x } = (await crypto.subtle.exportKey("jwk", key)) as JsonWebKey;
  const head = Uint8Array.of(0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 0x20);
  return encodeBase64Url(concatenate([head, decodeBase64Url(x!)!]));
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}
