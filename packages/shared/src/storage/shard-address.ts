import { isNumber, isText, objectOf } from "@edge-op/protocol/encoding/stored-json";

/**
 * **The shard of an id**, and the text forms that contain it. An id that does not parse, or that names a generation, region or
 * shard outside the table, is refused before any object is addressed (G1), so that callers cannot create objects.
 */
export interface ShardAddress {
  readonly generation: number;
  readonly region: string;
  readonly shard: number;
}

export const isShardAddress = objectOf<ShardAddress>({ generation: isNumber, region: isText, shard: isNumber });

/** The stores that ids name: each has a generation at any time. The names are part of object names and never change. */
export const namedStores = ["revocation", "refresh", "code", "session", "challenge"] as const;
export type NamedStore = (typeof namedStores)[number];

/** All sharded object stores. A deployment without a generation of relays, or with an empty one, has no relays (ADR 22). */
export const shardedStores = [...namedStores, "relay"] as const;
export type ShardedStore = (typeof shardedStores)[number];

/** At most six digits without a leading zero, so that an address has one spelling. */
const number = "(0|[1-9][0-9]{0,5})";
const generation = "([1-9][0-9]{0,5})";
const region = "([a-z]{2,8})";
const word = "([A-Za-z0-9_-]{1,64})";

const tokenIdPattern = new RegExp(`^g${generation}:${region}:${number}:${word}\\.${word}$`);
/** A family's sealed reference: ids and a `sub` of up to 255 characters (OIDC Core §2). */
const sealed = "([A-Za-z0-9_-]{1,512})";
/** The longest sealed family in a first refresh token: a token of at most 1,700 characters. */
export const longestSealedFamily = 1_024;
const sealedFamily = `(?:([A-Za-z0-9_-]{1,${longestSealedFamily}})\\.)?`;
const refreshTokenPattern = new RegExp(
  `^rt\\.g${generation}\\.${region}\\.${number}\\.${sealed}\\.${number}\\.${sealedFamily}${word}$`,
);
const codePattern = new RegExp(`^ac\\.g${generation}\\.${region}\\.${number}\\.([A-Za-z0-9_-]{40,})$`);
const opaquePattern = new RegExp(`^(ss|ch|dc)\\.g${generation}\\.${region}\\.${number}\\.${word}$`);

function address(gen: string, reg: string, shard: string): ShardAddress {
  return { generation: Number(gen), region: reg, shard: Number(shard) };
}

/** Name of the object that owns an address in a store. */
export function objectName(store: ShardedStore, at: ShardAddress): string {
  return `${store}:g${at.generation}:${at.region}:${at.shard}`;
}

/** The `jti` of an access token: its shard, its grant, and a random part. */
export interface TokenId {
  readonly address: ShardAddress;
  readonly grantId: string;
  readonly random: string;
}

export function formatTokenId(id: TokenId): string {
  const { generation: gen, region: reg, shard } = id.address;
  return `g${gen}:${reg}:${shard}:${id.grantId}.${id.random}`;
}

export function parseTokenId(text: string): TokenId | undefined {
  const match = tokenIdPattern.exec(text);
  if (match === null) return undefined;
  return { address: address(match[1]!, match[2]!, match[3]!), grantId: match[4]!, random: match[5]! };
}

/** The parts of a refresh token; `mac` covers all others (docs/reference/protocols.md §3). */
export interface RefreshTokenId {
  readonly address: ShardAddress;
  readonly familyId: string;
  readonly version: number;
  /** Only in version 0. */
  readonly sealedFamily?: string | undefined;
  readonly mac: string;
}

export function formatRefreshToken(id: RefreshTokenId): string {
  const { generation: gen, region: reg, shard } = id.address;
  const family = id.sealedFamily === undefined ? "" : `${id.sealedFamily}.`;
  return `rt.g${gen}.${reg}.${shard}.${id.familyId}.${id.version}.${family}${id.mac}`;
}

export function parseRefreshToken(text: string): RefreshTokenId | undefined {
  const match = refreshTokenPattern.exec(text);
  if (match === null) return undefined;
  return {
    address: address(match[1]!, match[2]!, match[3]!),
    familyId: match[4]!,
    version: Number(match[5]),
    sealedFamily: match[6],
    mac: match[7]!,
  };
}

/** An authorization code, whose content is sealed. */
export function formatCode(at: ShardAddress, sealed: string): string {
  return `ac.g${at.generation}.${at.region}.${at.shard}.${sealed}`;
}

export function parseCode(text: string): { readonly address: ShardAddress; readonly sealed: string } | undefined {
  const match = codePattern.exec(text);
  return match === null ? undefined : { address: address(match[1]!, match[2]!, match[3]!), sealed: match[4]! };
}

/** `ss` session id, `ch` challenge id, `dc` device code. */
export type OpaquePrefix = "ss" | "ch" | "dc";

export function formatOpaqueId(prefix: OpaquePrefix, at: ShardAddress, random: string): string {
  return `${prefix}.g${at.generation}.${at.region}.${at.shard}.${random}`;
}

export function parseOpaqueId(
  prefix: OpaquePrefix,
  text: string,
): { address: ShardAddress; random: string } | undefined {
  const match = opaquePattern.exec(text);
  if (match === null || match[1] !== prefix) return undefined;
  return { address: address(match[2]!, match[3]!, match[4]!), random: match[5]! };
}

export const controlPlaneName = "control";
