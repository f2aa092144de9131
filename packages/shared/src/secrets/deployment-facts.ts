import { decodeBase64Url, encodeBase64Url, encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import type { MasterKeyBindings } from "./master-key.ts";

/**
 * **The version of a Worker or object and the fingerprints of its secrets.** A deployment or a replacement of the master key continues when these
 * facts are as intended, not after a certain time. A fingerprint is 64 bits derived from the secret's 256, so it identifies the secret and reveals
 * nothing about it.
 */
export interface DeploymentFacts {
  /** The id of the Worker's version; empty if the platform does not provide one. */
  readonly version: string;
  readonly keys: Readonly<Partial<Record<keyof MasterKeyBindings, string>>>;
}

export interface FactsBindings extends Partial<MasterKeyBindings> {
  readonly VERSION?: WorkerVersionMetadata;
}

const secretNames = ["OP_MASTER_KEY", "OP_MASTER_KEY_PREVIOUS", "OP_PAIRWISE_KEY"] as const;

export async function readDeploymentFacts(env: FactsBindings): Promise<DeploymentFacts> {
  const keys = await Promise.all(
    secretNames.map(async (name): Promise<[string, string][]> => {
      const secret = env[name];
      return secret ? [[name, (await keyFingerprint(secret)) ?? "invalid"]] : [];
    }),
  );
  return { version: env.VERSION?.id ?? "", keys: Object.fromEntries(keys.flat()) };
}

/** `undefined` for a text that is not a master key. */
export async function keyFingerprint(secret: string): Promise<string | undefined> {
  const bytes = decodeBase64Url(secret);
  if (bytes?.byteLength !== 32) return undefined;
  const key = await crypto.subtle.importKey("raw", bytes, "HKDF", false, ["deriveBits"]);
  const info = encodeUtf8("edge-op fingerprint");
  const bits = await crypto.subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info }, key, 64);
  return encodeBase64Url(new Uint8Array(bits));
}

export interface ObjectFacts extends DeploymentFacts {
  /** The size of its storage. */
  readonly bytes: number;
}

/** **The RPC method of every object**: reports the version that it runs, which differs between objects while an update is deferred (ADR 34). */
export interface FactsRpc extends Rpc.DurableObjectBranded {
  deploymentFacts(): Promise<ObjectFacts>;
}
