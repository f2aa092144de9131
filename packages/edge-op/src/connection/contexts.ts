import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { Failure, usageFailure } from "../console/failure.ts";
import type { Terminal } from "../console/terminal.ts";

export interface StoredTokens {
  readonly access_token: string;
  /** Seconds since the epoch. */
  readonly expires_at: number;
  /** Present after a sign-in of a person. */
  readonly refresh_token?: string;
}

/** **A deployment and how to sign in there.** */
export interface Context {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret?: string;
  /** A private key as JWK with `alg`, for `private_key_jwt`. */
  readonly private_jwk?: JsonWebKey & { readonly kid?: string };
  /** Whether a person signed in, so that no token can be had without them. */
  readonly person?: true;
  readonly tokens?: StoredTokens;
}

interface ContextFile {
  readonly current?: string;
  readonly contexts: Readonly<Record<string, Context>>;
}

/**
 * **The contexts of this user**: one file that only they can read (mode 600), because it contains secrets and tokens. A file that others can read is
 * refused. Writes replace the file, so a reader never sees half of one.
 */
export class ContextStore {
  readonly #path: string;
  readonly #environment: Terminal["environment"];

  constructor(environment: Terminal["environment"]) {
    const { EDGE_OP_CONFIG, XDG_CONFIG_HOME } = environment;
    const folder =
      EDGE_OP_CONFIG || join(XDG_CONFIG_HOME || join(environment["HOME"] ?? homedir(), ".config"), "edge-op");
    this.#path = join(folder, "contexts.json");
    this.#environment = environment;
  }

  get path(): string {
    return this.#path;
  }

  read(): ContextFile {
    let text: string;
    try {
      // Windows has no such modes.
      if (process.platform !== "win32" && (statSync(this.#path).mode & 0o077) !== 0) {
        throw usageFailure(`Others can read ${this.#path}, which contains secrets: chmod 600 ${this.#path}`);
      }
      text = readFileSync(this.#path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return { contexts: {} };
      throw error;
    }
    try {
      return JSON.parse(text) as ContextFile;
    } catch {
      throw usageFailure(`${this.#path} is not JSON. Repair it, or delete it and sign in again.`);
    }
  }

  #write(file: ContextFile): void {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    const temporary = `${this.#path}.${process.pid}`;
    writeFileSync(temporary, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
    chmodSync(temporary, 0o600);
    renameSync(temporary, this.#path);
  }

  /** The context of a name; otherwise that of the environment, or the current one. The environment's has no name. */
  find(name: string | undefined): { readonly name: string | undefined; readonly context: Context } {
    const ofEnvironment = name === undefined ? this.#fromEnvironment() : undefined;
    if (ofEnvironment !== undefined) return { name: undefined, context: ofEnvironment };
    const { current, contexts } = this.read();
    const chosen = name ?? current;
    if (chosen === undefined)
      throw new Failure("notSignedIn", "Nobody is signed in. Sign in with: edge-op login <issuer>");
    const context = Object.hasOwn(contexts, chosen) ? contexts[chosen] : undefined;
    if (context === undefined) {
      const known = Object.keys(contexts).join(", ") || "none";
      throw usageFailure(`There is no context "${chosen}". Known: ${known}.`);
    }
    return { name: chosen, context };
  }

  #fromEnvironment(): Context | undefined {
    const { EDGE_OP_ISSUER: issuer, EDGE_OP_CLIENT_ID: id, EDGE_OP_CLIENT_SECRET: secret } = this.#environment;
    const key = this.#environment["EDGE_OP_PRIVATE_KEY"];
    if (!issuer) return undefined;
    if (!id || !(secret || key)) {
      throw usageFailure(
        "EDGE_OP_ISSUER needs EDGE_OP_CLIENT_ID and EDGE_OP_CLIENT_SECRET or EDGE_OP_PRIVATE_KEY (a JWK).",
      );
    }
    return { issuer, client_id: id, ...(secret ? { client_secret: secret } : { private_jwk: readPrivateKey(key!) }) };
  }

  /** Stores a context; `use` makes it the current one. */
  save(name: string, context: Context, use = false): void {
    const file = this.read();
    this.#write({ ...file, ...(use ? { current: name } : {}), contexts: { ...file.contexts, [name]: context } });
  }

  use(name: string): void {
    this.find(name);
    this.#write({ ...this.read(), current: name });
  }

  remove(name: string): void {
    this.find(name);
    const { current, contexts } = this.read();
    const { [name]: _, ...others } = contexts;
    this.#write({ ...(current === undefined || current === name ? {} : { current }), contexts: others });
  }
}

/** A private key from the text of a JWK. */
export function readPrivateKey(text: string): NonNullable<Context["private_jwk"]> {
  try {
    const jwk = JSON.parse(text) as NonNullable<Context["private_jwk"]>;
    if (typeof jwk.d === "string" && typeof jwk.alg === "string") return jwk;
  } catch {
    // The message below says it.
  }
  throw usageFailure("The key must be a private JWK with `alg` (RFC 7517).");
}
