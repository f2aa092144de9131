/**
 * **The refresh token format**, `rt.g{gen}.{region}.{shard}.{sealed}.{version}.{mac}`, written and read only here. The MAC covers everything before
 * it, so a version always has the same text and a forged token causes no I/O. `sealed` is the grant and the user, encrypted once per family (AES-GCM,
 * random IV), so that revocation and the user are checked before the family is called, and a pairwise client cannot read them. Version 0 also
 * contains the family (sealed-family.ts) before the MAC. Cost: no I/O, microseconds.
 */

import type { GrantIdentity } from "../grants/grant.ts";
import type { RequestContext } from "../http/request-context.ts";
import { macText, verifyMac } from "../secrets/mac.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { openSealed, sealText } from "../secrets/seal.ts";
import { formatRefreshToken, parseRefreshToken, type ShardAddress } from "../storage/shard-address.ts";
import type { FamilySnapshot } from "./refresh-family-rpc.ts";
import { openFamily } from "./sealed-family.ts";

export interface RefreshToken {
  /** Where the family lived when this version was issued. */
  readonly address: ShardAddress;
  readonly sealed: string;
  readonly version: number;
  readonly grant: Pick<GrantIdentity, "grantId" | "address">;
  readonly sub: string;
  /** The organisation of the grant. */
  readonly orgId?: string | undefined;
  /** The family in version 0, as it is until its first use. Absent if it was too long for the token: then a row was written with it. */
  readonly sealedFamily?: string | undefined;
  readonly initial?: FamilySnapshot | undefined;
}

const purpose = "refresh-mac";
const ofOrganization = "organization";

export async function formatSignedRefreshToken(
  env: MasterKeyBindings,
  { address, sealed, version, sealedFamily }: Pick<RefreshToken, "address" | "sealed" | "version" | "sealedFamily">,
): Promise<string> {
  const signed = formatRefreshToken({ address, familyId: sealed, version, sealedFamily, mac: "" });
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
  const { address, familyId: sealed, version, sealedFamily } = id;
  const subject = await openSubject(context.env, sealed);
  if (subject === undefined || sealedFamily === undefined) return subject && { address, sealed, version, ...subject };
  const initial = await openFamily(context.env, sealedFamily, { ...subject, sealed, address });
  return initial && { address, sealed, version, ...subject, sealedFamily, initial };
}

/** Called once for each family: sealing the same grant again would produce a different token. */
export async function sealSubject(
  env: MasterKeyBindings,
  { grant, sub, orgId }: Pick<RefreshToken, "grant" | "sub" | "orgId">,
): Promise<string> {
  const { generation, region, shard } = grant.address;
  const text = [grant.grantId, generation, region, shard, sub].join(":");
  if (orgId === undefined) return sealText(env, "refresh-seal", text);
  // A release that knows no organisations does not open it, and refuses the token.
  return sealText(env, "refresh-seal", `${orgId}:${text}`, { bound: ofOrganization });
}

async function openSubject(
  env: MasterKeyBindings,
  text: string,
): Promise<Pick<RefreshToken, "grant" | "sub" | "orgId"> | undefined> {
  const ofDeployment = await openSealed(env, "refresh-seal", text);
  if (ofDeployment !== undefined) return readSubject(ofDeployment);
  const opened = await openSealed(env, "refresh-seal", text, ofOrganization);
  if (opened === undefined) return undefined;
  const at = opened.indexOf(":");
  return { ...readSubject(opened.slice(at + 1)), orgId: opened.slice(0, at) };
}

function readSubject(opened: string): Pick<RefreshToken, "grant" | "sub"> {
  const [grantId, generation, region, shard, ...sub] = opened.split(":");
  return {
    grant: {
      grantId: grantId!,
      address: { generation: Number(generation), region: region!, shard: Number(shard) },
    },
    sub: sub.join(":"),
  };
}
