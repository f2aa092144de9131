/**
 * **The refresh token format**, `rt.g{gen}.{region}.{shard}.{sealed}.{version}.{mac}`, written and read only here. The MAC covers everything before
 * it, so a version always has the same text and a forged token causes no I/O. `sealed` is the grant and the user, encrypted once per family (AES-GCM,
 * random IV), so that revocation and the user are checked before the family is called, and a pairwise client cannot read them. Cost: no I/O,
 * microseconds.
 */

import type { RequestContext } from "../http/request-context.ts";
import type { GrantIdentity } from "../leases/grant-identity.ts";
import { macText, verifyMac } from "../secrets/mac.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { openSealed, sealText } from "../secrets/seal.ts";
import { formatRefreshToken, parseRefreshToken, type ShardAddress } from "../storage/shard-address.ts";

export interface RefreshToken {
  /** Where the family lived when this version was issued. */
  readonly address: ShardAddress;
  readonly sealed: string;
  readonly version: number;
  readonly grant: Pick<GrantIdentity, "grantId" | "address">;
  readonly sub: string;
}

const purpose = "refresh-mac";

export async function formatSignedRefreshToken(
  env: MasterKeyBindings,
  { address, sealed, version }: Pick<RefreshToken, "address" | "sealed" | "version">,
): Promise<string> {
  const signed = formatRefreshToken({ address, familyId: sealed, version, mac: "" });
  return signed + (await macText(env, purpose, signed));
}

/** `undefined` for any text that this provider did not issue. Does not check the family's state. */
export async function readRefreshToken(
  context: RequestContext<MasterKeyBindings>,
  token: string,
): Promise<RefreshToken | undefined> {
  const id = parseRefreshToken(token);
  if (id === undefined) return undefined;
  const signed = token.slice(0, token.length - id.mac.length);
  if (!(await verifyMac(context.env, purpose, signed, id.mac))) return undefined;
  const subject = await unsealFamily(context.env, id.familyId);
  return subject && { address: id.address, sealed: id.familyId, version: id.version, ...subject };
}

/** Called once, when the family is created: sealing the same family again would produce a different token. */
export async function sealFamily(
  env: MasterKeyBindings,
  { grant, sub }: Pick<RefreshToken, "grant" | "sub">,
): Promise<string> {
  const { generation, region, shard } = grant.address;
  const text = [grant.grantId, generation, region, shard, sub].join(":");
  return sealText(env, "refresh-seal", text);
}

async function unsealFamily(
  env: MasterKeyBindings,
  text: string,
): Promise<Pick<RefreshToken, "grant" | "sub"> | undefined> {
  const opened = await openSealed(env, "refresh-seal", text);
  if (opened === undefined) return undefined;
  const [grantId, generation, region, shard, ...sub] = opened.split(":");
  return {
    grant: {
      grantId: grantId!,
      address: { generation: Number(generation), region: region!, shard: Number(shard) },
    },
    sub: sub.join(":"),
  };
}
