/**
 * **The text of an authorization code**, `ac.g{gen}.{region}.{shard}.{sealed}`: its content, encrypted (AES-GCM, random IV) and bound to the address,
 * so that a URL shows nothing about the person and a forged code is refused without I/O. A code of an organisation is bound to another text, so that
 * a release that knows no organisations opens none. Cost: no I/O, microseconds.
 */

import { listOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { packLogin, unpackLogin } from "@edge-op/protocol/oauth/login-context";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { openSealed, sealText } from "../secrets/seal.ts";
import { formatCode, parseCode, type ShardAddress } from "../storage/shard-address.ts";
import { type AuthorizationCodePayload, isAuthorizationCodePayload } from "./authorization-code-rpc.ts";

export interface OpenCode {
  /** The shard in which it is spent. */
  readonly address: ShardAddress;
  /** 128 random bits. */
  readonly id: string;
  readonly expiresAtMs: number;
  readonly payload: AuthorizationCodePayload;
}

export async function sealCode(
  env: MasterKeyBindings,
  { address, id, expiresAtMs, payload }: OpenCode,
): Promise<string> {
  const { grant, clientId, scope, resources, refreshable, familyAddress } = payload;
  const { tokenLifetimeSeconds, grantEndsAtMs, redirectUri, codeChallenge, nonce } = payload;
  const text = JSON.stringify([
    ...[id, expiresAtMs, grant.grantId, pack(grant.address), grant.grantCreatedAtMs, clientId, scope, resources],
    ...[refreshable, pack(familyAddress), tokenLifetimeSeconds, grantEndsAtMs, redirectUri, codeChallenge, nonce],
    ...packLogin(payload),
  ]);
  return formatCode(
    address,
    await sealText(env, "code-seal", text, { bound: boundOf(address, payload.orgId !== undefined) }),
  );
}

/** `undefined` for any text that this provider did not issue. Does not check whether the code has expired or is spent. */
export async function openCode(env: MasterKeyBindings, code: string): Promise<OpenCode | undefined> {
  const parsed = parseCode(code);
  if (parsed === undefined) return undefined;
  const { address, sealed } = parsed;
  const open = (isOfOrganization: boolean) => openSealed(env, "code-seal", sealed, boundOf(address, isOfOrganization));
  const text = (await open(false)) ?? (await open(true));
  if (text === undefined) return undefined;
  const values = readStored(
    "authorization code",
    text,
    listOf((_value): _value is unknown => true),
  );
  const [id, expiresAtMs, grantId, grantAddress, grantCreatedAtMs, clientId, scope, resources, ...others] = values;
  const [refreshable, familyAddress, tokenLifetimeSeconds, grantEndsAtMs, redirectUri, ...last] = others;
  const [codeChallenge, nonce, ...login] = last;
  const payload = {
    ...unpackLogin(login),
    grant: { grantId, address: unpack(grantAddress), grantCreatedAtMs },
    ...{ clientId, scope, resources, refreshable, familyAddress: unpack(familyAddress) },
    ...{ tokenLifetimeSeconds, grantEndsAtMs, redirectUri },
    ...{ codeChallenge: codeChallenge ?? undefined, nonce: nonce ?? undefined },
  };
  if (typeof id !== "string" || typeof expiresAtMs !== "number" || !isAuthorizationCodePayload(payload)) {
    throw new Error("a sealed authorization code has another form");
  }
  return { address, id, expiresAtMs, payload };
}

function boundOf(address: ShardAddress, isOfOrganization: boolean): string {
  return formatCode(address, isOfOrganization ? "organization" : "");
}

function pack({ generation, region, shard }: ShardAddress): readonly unknown[] {
  return [generation, region, shard];
}

function unpack(values: unknown): unknown {
  const [generation, region, shard] = values as readonly unknown[];
  return { generation, region, shard };
}
