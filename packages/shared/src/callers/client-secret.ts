import {
  decodeBase64Url,
  encodeBase64Url,
  encodeUtf8,
  equalConstantTime,
  randomBase64Url,
} from "@edge-op/protocol/encoding/bytes";
import type { Client, ClientSecret } from "../clients/client.ts";
import { isolateMemory, limits } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import type { Form } from "../http/read-form.ts";
import type { RequestContext } from "../http/request-context.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";
import { keyFingerprint } from "../secrets/deployment-facts.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { openSealed, sealText } from "../secrets/seal.ts";

/**
 * **Client secrets**: 256 random bits, stored as their SHA-256, sealed under a derived key (AES-256-GCM) for the client and the secret's row. A slow
 * hash protects weak secrets; these are not weak, and the seal keeps a stolen table useless. Unlike a MAC, a seal can be made again with another
 * master key (ADR 6).
 */
export function generateClientSecret(): string {
  return randomBase64Url(32);
}

export interface SealedSecret {
  readonly secret: string;
  /** The fingerprint of the master key. */
  readonly sealedBy: string;
}

interface SecretPlace {
  readonly clientId: string;
  readonly id: string;
}

export async function sealClientSecret(
  env: MasterKeyBindings,
  secret: string,
  { clientId, id }: SecretPlace,
): Promise<SealedSecret> {
  return {
    secret: await sealText(env, "client-secret-seal", await hashClientSecret(secret), {
      bound: clientSecretSeal(clientId, id),
    }),
    sealedBy: (await keyFingerprint(env.OP_MASTER_KEY)) ?? "",
  };
}

/** The associated data that a sealed secret is bound to. */
export function clientSecretSeal(clientId: string, id: string): string {
  return `${clientId}\n${id}`;
}

/** What a token of a directory is sealed for, in place of a client: no client_id begins so. */
export function scimTokenOwner(orgId: string): string {
  return `scim:${orgId}`;
}

export async function hashClientSecret(secret: string): Promise<string> {
  return encodeBase64Url(await digestOf(encodeUtf8(secret)));
}

async function digestOf(text: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", text));
}

/** Compared if there is no secret, so that an unknown client costs the same comparison as a wrong secret. */
const noBytes = new Uint8Array(32);

/**
 * The text that matched a secret, by the secret's record. A returning client is compared with it instead of a hash, which saves a twentieth
 * of the CPU of an introspection. It disappears with the record, which every administrative change replaces.
 */
const matchedTexts = new WeakMap<ClientSecret, Uint8Array<ArrayBuffer>>();

/**
 * Whether `secret` is one of the client's live secrets; none of an unknown client is. Cost: nothing for one that matched before, otherwise a hash,
 * and a decryption for each secret.
 */
export async function matchesClientSecret(
  env: MasterKeyBindings,
  secret: string,
  client: Pick<Client, "clientId" | "secrets"> | undefined,
  atMs: number,
): Promise<boolean> {
  const { clientId, secrets } = client ?? { clientId: "", secrets: [] };
  const live = secrets.filter(({ expiresAtMs }) => expiresAtMs === undefined || atMs < expiresAtMs);
  const text = encodeUtf8(secret);
  if (findEqual(live, (held) => matchedTexts.get(held), text) !== undefined) return true;

  const digests = new Map(
    await Promise.all(
      live.map(async (held) => [held, decodeBase64Url((await openClientSecret(env, clientId, held)) ?? "")] as const),
    ),
  );
  const found = findEqual(live, (held) => digests.get(held), await digestOf(text));
  if (found !== undefined) matchedTexts.set(found, text);
  return found !== undefined;
}

/** The result of {@link hashClientSecret}; `undefined` if it was sealed with another key, or for another row. */
export function openClientSecret(
  env: MasterKeyBindings,
  clientId: string,
  { id, sealed }: Pick<ClientSecret, "id" | "sealed">,
): Promise<string | undefined> {
  return openSealed(env, "client-secret-seal", sealed, clientSecretSeal(clientId, id));
}

/** Compares every secret, so that the time does not reveal which one matched. */
function findEqual(
  live: readonly ClientSecret[],
  bytesOf: (held: ClientSecret) => Uint8Array<ArrayBuffer> | undefined,
  presented: Uint8Array<ArrayBuffer>,
): ClientSecret | undefined {
  if (live.length === 0) equalConstantTime(presented, noBytes);
  const equal = live.filter((held) => {
    const bytes = bytesOf(held);
    // A missing value never matches, whatever is presented.
    return equalConstantTime(presented, bytes ?? noBytes) && bytes !== undefined;
  });
  return equal[0];
}

interface Known {
  readonly client: Client;
  /** A control version at which the client's record was current. */
  readonly stamp: number;
}

/**
 * **The clients that have authenticated by `client_secret_basic`**, by the text of the header (ADR 27): the same header authenticates the same client
 * until one of its secrets expires or a change names the client. Rate limits count each request. Cost: 0.
 */
export class KnownCredentials {
  readonly #control: ControlView;
  readonly #known = new IsolateCache<Known>({ maxBytes: isolateMemory.knownCredentials });

  constructor(control: ControlView) {
    this.#control = control;
  }

  get heldBytes(): number {
    return this.#known.bytes;
  }

  /** To be called within a decision. Returns `undefined` also if the form contains another credential; such a request is refused. */
  find({ arrivedAtMs, progress }: RequestContext<unknown>, header: string, form: Form): Client | undefined {
    const known = this.#known.get(header, arrivedAtMs);
    if (known === undefined || progress.reads === undefined) return undefined;
    const { client, stamp } = known;
    if (!this.#control.isCurrent("client", client.clientId, stamp)) return undefined;
    if (form.get("client_secret") !== undefined || form.get("client_assertion") !== undefined) return undefined;
    const named = form.get("client_id");
    if (named !== undefined && named !== client.clientId) return undefined;
    progress.reads.note("client", client.clientId);
    return client;
  }

  /** To be called within a decision. `endsAtMs`: when a secret of the client expires. */
  add({ arrivedAtMs, progress }: RequestContext<unknown>, header: string, client: Client, endsAtMs: number): void {
    if (endsAtMs <= arrivedAtMs || progress.reads?.areCurrent() !== true) return;
    const known: Known = { client, stamp: this.#control.version! };
    this.#known.set(header, known, Math.min(endsAtMs, arrivedAtMs + limits.rememberedMs));
  }
}
