import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { ClientResources } from "../../packages/op-token/src/isolate.ts";
import { KnownCredentials } from "../../packages/shared/src/callers/client-secret.ts";
import { RateShield } from "../../packages/shared/src/callers/rate-limit.ts";
import { DpopProofs } from "../../packages/shared/src/callers/read-proof.ts";
import { attachedClientBytes, type Client, importedKeysBytes } from "../../packages/shared/src/clients/client.ts";
import { ClientKeys } from "../../packages/shared/src/clients/client-keys.ts";
import { createClientLogos } from "../../packages/shared/src/clients/client-logos.ts";
import { mostDocumentHosts } from "../../packages/shared/src/clients/document-policy.ts";
import { createClientDocuments } from "../../packages/shared/src/clients/metadata-documents.ts";
import { isolateMemory, limits } from "../../packages/shared/src/config/limits.ts";
import { ControlView } from "../../packages/shared/src/control/control-view.ts";
import { ReadSet } from "../../packages/shared/src/control/read-set.ts";
import { RememberedDecisions } from "../../packages/shared/src/control/remembered-decisions.ts";
import { ReceivedRequest } from "../../packages/shared/src/http/received-request.ts";
import { createRequestContext, type RequestContext } from "../../packages/shared/src/http/request-context.ts";
import { IssuerKeys } from "../../packages/shared/src/issuers/issuer-directory.ts";
import type { TrustedIssuer } from "../../packages/shared/src/issuers/trusted-issuer.ts";
import { ShardReplica } from "../../packages/shared/src/leases/shard-replica.ts";
import type { Resource } from "../../packages/shared/src/resources/resource.ts";
import { ReadThrough } from "../../packages/shared/src/storage/read-through.ts";
import { type AccessToken, VerifiedTokens } from "../../packages/shared/src/tokens/verified-tokens.ts";

/** One cache of an isolate: how to add an entry that shares no memory with others, and its estimated size. */
export interface Fillable {
  readonly bound: number;
  readonly heldBytes: () => number;
  /** The amount to fill for a measurement, if creating an entry takes long. */
  readonly measuredBytes?: number;
  /** The number of consecutive additions that may leave its size unchanged, because a table that doubles does not grow with each. */
  readonly idleAtMost?: number;
  /** Adds entry number `index`. `size` is between 0 (small) and 1 (the largest that is allowed). */
  readonly add: (index: number, size: number) => Promise<void> | void;
}

const never = 8_000_000_000_000;

/** A text in its own memory, as created by a decoder. */
function text(index: number, length: number): string {
  const seed = `${index}-`;
  return Buffer.from(seed.repeat(Math.ceil(length / seed.length)).slice(0, Math.max(length, seed.length))).toString(
    "latin1",
  );
}

/** A document as created by JSON.parse, whose strings share no memory. */
function parsed<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

function between(size: number, small: number, large: number): number {
  return Math.round(small + size * (large - small));
}

/** Empty stores of the platform; only memory is measured. */
const platform = {
  ISSUER: "https://op.example.com",
  TRUST_FORWARDED_HEADERS: "true",
  CACHE: { get: async () => null, put: async () => {} },
  CLIENT_RATE_LIMIT: { limit: async () => ({ success: true }) },
};

const head = { headers: new Headers() };

export function requestContext<Env>(env: object = {}): RequestContext<Env> {
  const bindings = { ...platform, ...env };
  return createRequestContext(head, bindings, { waitUntil: () => {} }) as unknown as RequestContext<Env>;
}

function accessToken(index: number, roles: number): AccessToken {
  const names = Array.from({ length: roles }, (_, role) => text(index, 6) + role);
  return {
    ...parsed({
      id: { address: { generation: 1, region: "weur", shard: 3 }, grantId: text(index, 22), random: text(index, 22) },
      sub: text(index, 22),
      clientId: text(index, 36),
      viaClientIds: [],
      lineage: [],
      audiences: [text(index, 30)],
      resources: [],
      scope: ["openid", "profile", text(index, 20)],
      issuedAtSeconds: 1_800_000_000,
      expiresAtSeconds: never / 1000,
      rbac: { roles: names, groups: [], permissions: [] },
      username: text(index, 20),
      forUser: true,
    }),
    grantClientId: text(index, 36),
    act: undefined,
    mayAct: undefined,
    cnf: undefined,
    pairwiseSub: undefined,
    authTimeSeconds: undefined,
    acr: undefined,
    amr: undefined,
    authorizationDetails: undefined,
    userinfoClaims: undefined,
    mappedClaims: undefined,
  };
}

function verifiedTokens(): Fillable {
  const tokens = new VerifiedTokens(confirmedControl());
  return {
    bound: isolateMemory.verifiedTokens,
    heldBytes: () => tokens.heldBytes,
    // A role of 9 characters takes 16 characters of the token.
    add: (index, size) => {
      const length = between(size, 600, limits.cachedTokenBytes);
      tokens.add(tokens.begin(), text(index, length), accessToken(index, Math.floor((length - 560) / 16)), never);
    },
  };
}

/** A control view that knows a version. */
function confirmedControl(): ControlView {
  const control = new ControlView();
  void control.observe(requestContext(), 1);
  return control;
}

/** A context within a decision at a control version. */
function deciding(control: ControlView): RequestContext<unknown> {
  const context = requestContext();
  context.progress.reads = new ReadSet(control);
  return context;
}

function knownCredentials(): Fillable {
  const control = confirmedControl();
  const known = new KnownCredentials(control);
  return {
    bound: isolateMemory.knownCredentials,
    heldBytes: () => known.heldBytes,
    add: (index, size) => known.add(deciding(control), text(index, 90), client(index, size), never),
  };
}

/** Added twice, because the first of equal requests is not remembered. */
function rememberedDecisions(): Fillable {
  const control = confirmedControl();
  const decisions = new RememberedDecisions(control);
  return {
    bound: isolateMemory.decisions,
    heldBytes: () => decisions.heldBytes,
    add: async (index, size) => {
      const headers = { authorization: text(index, 80) };
      const body = text(index, between(size, 600, limits.rememberedCharacters));
      const request = new ReceivedRequest(new Request(platform.ISSUER, { method: "POST", headers }), body);
      const decision = {
        token: accessToken(index, between(size, 0, 100)),
        text: text(index, between(size, 500, 4_000)),
        repeatableUntilMs: never,
      };
      const doing = { read: () => ({}), decide: async () => decision, again: () => undefined };
      const context = deciding(control);
      for (let time = 0; time < 2; time += 1) await decisions.around(context, "/introspect", request, doing)();
    },
  };
}

function client(index: number, size: number): Client {
  const uris = Array.from({ length: between(size, 1, 100) }, (_, uri) =>
    text(index + uri / 1000, between(size, 60, 2_048)),
  );
  const keys = Array.from({ length: between(size, 0, 20) }, (_, key) => ({
    kty: "RSA",
    kid: text(index + key / 100, 43),
    e: "AQAB",
    n: text(index + key / 100, between(size, 342, 683)),
  }));
  return parsed({
    clientId: text(index, 36),
    status: "active",
    createdAtMs: 1_800_000_000_000,
    cutOffs: [],
    secrets: [{ id: text(index, 22), sealed: text(index, 95), expiresAtMs: undefined }],
    metadata: {
      client_name: text(index, between(size, 20, 255)),
      token_endpoint_auth_method: "private_key_jwt",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      redirect_uris: uris,
      post_logout_redirect_uris: uris.slice(0, between(size, 1, 20)),
      scope: text(index, between(size, 60, 8_192)),
      audiences: [text(index, 40)],
      jwks: { keys },
    },
  } satisfies Client);
}

function trustedIssuer(index: number, size: number): TrustedIssuer {
  const keys = Array.from({ length: between(size, 1, 20) }, (_, key) => ({
    ...{ kty: "EC", crv: "P-256", kid: text(index + key / 100, 43) },
    ...{ x: text(index + key / 100, 43), y: text(index + key / 100, 43) },
  }));
  const rules = Array.from({ length: between(size, 1, 50) }, (_, rule) => ({
    rule_id: text(index + rule / 1000, 20),
    status: "active" as const,
    uses: ["assertion" as const],
    claims: { sub: { glob: text(index + rule / 1000, between(size, 30, 500)) } },
    client_id: text(index, 36),
    subject: { type: "client" as const },
    audiences: [],
    resources: [text(index, 60)],
    scopes: [text(index, 20)],
  }));
  const limits = { algorithms: ["ES256" as const], max_token_lifetime: 3600, reusable_assertions: false };
  return parsed({
    issuerId: text(index, 22),
    issuer: text(index, between(size, 40, 255)),
    status: "active",
    document: { jwks: { keys }, ...limits, rules },
  } satisfies TrustedIssuer);
}

/** Every fetch meanwhile returns this response without a timer, because Node keeps a timer and everything that it refers to for seconds. */
async function whileFetching(document: unknown, work: () => Promise<unknown>): Promise<void> {
  const { fetch: fetched } = globalThis;
  const { timeout: timed } = AbortSignal;
  globalThis.fetch = async () =>
    document instanceof Uint8Array ? new Response(Uint8Array.from(document)) : Response.json(document);
  AbortSignal.timeout = () => new AbortController().signal;
  await work();
  globalThis.fetch = fetched;
  AbortSignal.timeout = timed;
}

/** The `jwks_uri` of discovered issuers. */
function issuerMetadata(): Fillable {
  const keys = new IssuerKeys(new ClientKeys());
  return {
    bound: isolateMemory.issuerMetadata,
    heldBytes: () => keys.heldBytes,
    add: async (index, size) => {
      const issuer = text(index, between(size, 40, 255));
      const jwksUri = `https://client.example.com/${text(index, between(size, 30, 2_000))}`;
      const { document, ...record } = trustedIssuer(index, 0);
      const { jwks: _, ...rest } = document;
      const discovery_uri = `https://issuer.example.com/${text(index, between(size, 30, 2_000))}`;
      // No key has this algorithm, so only the metadata is fetched.
      const header = { alg: "none", kid: undefined, typ: undefined };
      const unsigned = { ...record, issuer, document: { ...rest, algorithms: ["none"], discovery_uri } };
      const discovered: TrustedIssuer = JSON.parse(JSON.stringify(unsigned));
      await whileFetching({ issuer, jwks_uri: jwksUri }, () =>
        keys.isSigned(requestContext(), discovered, "", { header, claims: {} }),
      );
    },
  };
}

function readThrough<Value>(
  kind: "client" | "user" | "rbac" | "attributes" | "resource" | "issuer" | "document-hosts" | "generations",
  maxBytes: number,
  make: (index: number, size: number) => Value,
  attachedBytes?: (value: Value) => number,
): Fillable {
  let next: Value | undefined;
  const control = new ControlView();
  const cache = ReadThrough.ofWhole<Value>(control, {
    kind,
    ttlSeconds: 3600,
    maxBytes,
    ...(attachedBytes === undefined ? {} : { attachedBytes }),
    query: { statement: () => statementOf([{}]), read: () => next },
  });
  return {
    bound: maxBytes,
    heldBytes: () => cache.heldBytes,
    add: async (index, size) => {
      if (control.version === undefined) await control.observe(requestContext(), 1);
      next = make(index, size);
      await cache.find(requestContext(), text(index, between(size, 22, 255)));
    },
  };
}

function resource(index: number, size: number): Resource {
  const scopes = Array.from({ length: between(size, 1, 100) }, (_, scope) => ({
    value: text(index + scope / 1000, between(size, 10, 256)),
    description: text(index + scope / 1000, between(size, 40, 200)),
  }));
  const named = Array.from({ length: between(size, 1, 100) }, (_, client) => text(index + client / 1000, 24));
  return parsed({
    identifier: text(index, between(size, 30, 255)),
    metadata: { name: text(index, between(size, 10, 100)), scopes, clients: named },
  } satisfies Resource);
}

function clientResources(): Fillable {
  const cache = new ClientResources();
  return {
    bound: isolateMemory.clientResources,
    heldBytes: () => cache.heldBytes,
    add: async (index, size) => {
      const used = Array.from({ length: between(size, 1, 16) }, (_, value) =>
        text(index + value / 100, between(size, 30, 255)),
      );
      cache.remember(text(index, between(size, 22, 255)), parsed(used), 0);
    },
  };
}

/** A statement with these rows, for a cache whose isolate knows a version. */
function statementOf(results: readonly object[]): D1PreparedStatement {
  return { all: async () => ({ results }) } as unknown as D1PreparedStatement;
}

/** Ids that do not exist. */
function absent(kind: "client" | "resource" | "issuer", presenceBytes: number): Fillable {
  const control = new ControlView();
  const cache = ReadThrough.ofWhole<string>(control, {
    kind,
    ttlSeconds: 3600,
    absentSeconds: 60,
    maxBytes: isolateMemory.clients,
    presenceBytes,
    query: { statement: () => statementOf([]), read: () => undefined },
  });
  return {
    bound: presenceBytes,
    heldBytes: () => cache.heldBytes,
    add: async (index, size) => {
      if (control.version === undefined) await control.observe(requestContext(), 1);
      // A substring of a much longer header.
      const header = text(index, 8_000);
      await cache.find(requestContext(), header.slice(0, between(size, 22, 255)));
    },
  };
}

function clientKeySets(): Fillable {
  const keys = new ClientKeys();
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const token = `${encode({ alg: "ES256", kid: "none" })}.${encode({ iss: "client" })}.AAAA`;
  return {
    bound: isolateMemory.clientKeySets + 3 * isolateMemory.clientKeyUris + isolateMemory.hostBudgets / 2,
    heldBytes: () => keys.heldBytes,
    add: async (index, size) => {
      const jwk = { kty: "EC", crv: "P-256", kid: text(index, 10), x: text(index, 43), y: text(index, 43) };
      const body = JSON.stringify({ keys: Array.from({ length: between(size, 2, 420) }, () => jwk) });
      const fetched = globalThis.fetch;
      globalThis.fetch = async () => new Response(body, { headers: { "content-type": "application/json" } });
      const uri = `https://client${index}.example.com/${text(index, between(size, 30, 2_000))}`;
      const { jwks: _, ...metadata } = client(index, 0).metadata;
      const remote = { ...client(index, 0), metadata: { ...metadata, jwks_uri: uri } };
      await keys.verify(requestContext(), remote, token, {});
      globalThis.fetch = fetched;
    },
  };
}

function clientDocuments(): Fillable {
  const documents = createClientDocuments();
  return {
    bound: isolateMemory.clientDocuments + 3 * isolateMemory.clientDocumentUrls + isolateMemory.hostBudgets / 4,
    heldBytes: () => documents.heldBytes,
    add: async (index, size) => {
      const url = `https://client${index}.example.com/${text(index, between(size, 20, 200))}`;
      const uris = Array.from(
        { length: between(size, 1, 40) },
        (_, uri) => `https://client.example.com/${index}/${uri}`,
      );
      const document = { client_id: url, client_name: text(index, between(size, 10, 200)), redirect_uris: uris };
      await whileFetching(document, () => documents.find(requestContext(), url));
    },
  };
}

function clientLogos(): Fillable {
  const logos = createClientLogos();
  return {
    bound: isolateMemory.clientLogos + 3 * isolateMemory.clientLogoUrls,
    heldBytes: () => logos.heldBytes,
    add: async (index, size) => {
      const url = `https://client.example.com/${text(index, between(size, 20, 220))}`;
      const image = Buffer.alloc(between(size, 1_000, limits.outboundFetchBytes), index % 251);
      image.write("GIF89a");
      await whileFetching(image, () => logos.find(requestContext(), url));
    },
  };
}

function rateCounters(): Fillable {
  const shield = new RateShield();
  return {
    bound: isolateMemory.rateCounters,
    heldBytes: () => shield.heldBytes,
    add: (index, size) => shield.countRequest(requestContext(), "/token", text(index, between(size, 36, 255))),
  };
}

/** The headers differ by their `kid`, so each is an entry; signing with new keys would take minutes. */
function proofs(): Fillable {
  const held = new DpopProofs();
  return {
    bound: isolateMemory.proofKeys + isolateMemory.seenProofs,
    measuredBytes: 4 * 1024 * 1024,
    heldBytes: () => held.heldBytes,
    add: async (index, size) => {
      held.spendHere(`dpop:${text(index, 43)}`, never, 0);
      const verified = await held.keys.verify(await proofWith(text(index, between(size, 8, 2_000))), 0);
      if (typeof verified === "string") throw new Error(verified);
    },
  };
}

const proofKey = generateKeyPair("EdDSA");

async function proofWith(kid: string): Promise<string> {
  const { publicKey, privateKey } = await proofKey;
  return new SignJWT({ jti: "1", htm: "POST", htu: "https://op.example.com/token", iat: 0 })
    .setProtectedHeader({ alg: "EdDSA", typ: "dpop+jwt", kid, jwk: await exportJWK(publicKey) })
    .sign(privateKey);
}

function controlChanges(): Fillable {
  const control = new ControlView();
  return {
    bound: isolateMemory.controlChanges,
    heldBytes: () => control.heldBytes,
    add: async (index, size) => {
      if (control.version === undefined) await control.observe(requestContext(), 1);
      const version = control.version! + 1;
      await control.observe(requestContext(), version, [
        { version, kind: "user", id: text(index, between(size, 22, 255)) },
      ]);
    },
  };
}

/** Rows are hashed, so their length does not matter. */
const rowsAtOnce = 5_000;

/** The replica of one shard; the isolate discards a replica if all of them exceed the bound (revocation-view.ts). */
function replica(): Fillable {
  const shard = new ShardReplica();
  let seq = -1;
  return {
    bound: isolateMemory.revocationReplicas,
    idleAtMost: 150,
    heldBytes: () => shard.bytes,
    add: (index, size) => {
      if (shard.bytes > isolateMemory.revocationReplicas / 2) return;
      const rows = Array.from({ length: rowsAtOnce }, (_, row) => ({ key: `j:${index}.${row}`, untilMs: never }));
      const change = parsed({
        key: text(index, between(size, 30, 262)),
        version: 1_000 + index,
        untilMs: never,
      });
      const request = shard.request(1_000, 1, true);
      seq += 1;
      const lease = {
        kind: "lease",
        snapshot: seq === 0,
        seq,
        rows,
        cutOffs: index % 10 === 0 ? [change] : [],
        leaseMs: 1_000,
        heldMs: 0,
        cv: 1,
        changes: [],
      } as const;
      shard.install(lease, request, 0);
    },
  };
}

/** Every cache of `isolateMemory` except the key schedule. */
export const fillables: Readonly<Record<string, () => Fillable>> = {
  "verified tokens": verifiedTokens,
  "remembered decisions": rememberedDecisions,
  "known credentials": knownCredentials,
  clients: () => readThrough("client", isolateMemory.clients, client, attachedClientBytes),
  resources: () => readThrough("resource", isolateMemory.resources, resource),
  "resources of clients": clientResources,
  "absent resources": () => absent("resource", isolateMemory.absentResources),
  "trusted issuers": () =>
    readThrough("issuer", isolateMemory.trustedIssuers, trustedIssuer, ({ document }) =>
      importedKeysBytes(document.jwks?.keys ?? []),
    ),
  "absent issuers": () => absent("issuer", isolateMemory.absentIssuers),
  "issuer metadata": issuerMetadata,
  users: () =>
    readThrough("user", isolateMemory.users, (index, size) =>
      parsed({
        sub: text(index, 22),
        username: text(index, between(size, 10, 255)),
        status: "active",
        claims: {
          name: text(index, between(size, 20, 255)),
          email: text(index, between(size, 20, 320)),
          email_verified: true,
          picture: text(index, between(size, 50, 2_048)),
          address: { formatted: text(index, between(size, 50, 1_000)), country: "FR" },
          updated_at: 1_800_000_000,
        },
      }),
    ),
  "RBAC claims": () =>
    readThrough("rbac", isolateMemory.rbacClaims, (index, size) => {
      const names = Array.from({ length: between(size, 2, 200) }, (_, name) =>
        text(index + name / 1000, between(size, 10, 128)),
      );
      return parsed({ roles: names, groups: names, permissions: names });
    }),
  attributes: () =>
    readThrough("attributes", isolateMemory.attributes, (index, size) =>
      parsed({
        attributes: Array.from({ length: between(size, 5, 200) }, (_, attribute) => ({
          attribute: text(index + attribute / 1000, 20),
          type: "string",
          title: text(index, 30),
          claim: { name: text(index, 20), scope: text(index, 20), tokens: ["userinfo"], clients: [text(index, 22)] },
        })),
      }),
    ),
  "document hosts": () =>
    readThrough("document-hosts", isolateMemory.documentHosts, (index, size) =>
      parsed({
        hosts: Array.from({ length: between(size, 5, mostDocumentHosts) }, (_, host) => ({
          host: text(index + host / 1000, between(size, 20, 253)),
          policy: "allow",
        })),
      }),
    ),
  generations: () =>
    readThrough("generations", isolateMemory.generations, (index, size) =>
      Array.from({ length: between(size, 5, 50) }, (_, generation) =>
        parsed({
          store: "revocation",
          generation,
          mintedFromMs: 1_800_000_000_000 + index,
          retired: false,
          regions: { weur: { shards: 8, hint: "weur" }, enam: { shards: 8, hint: "enam" } },
        }),
      ),
    ),
  presence: () => absent("client", isolateMemory.presence),
  "client key sets": clientKeySets,
  "client documents": clientDocuments,
  "client logos": clientLogos,
  "rate counters": rateCounters,
  "DPoP proofs": proofs,
  "control changes": controlChanges,
  "revocation replicas": replica,
};

/** Adds entries of a size until the cache stops growing or its bound would be exceeded. Returns their number. */
export async function fill(cache: Fillable, size: number): Promise<number> {
  let largest = 0;
  let idle = 0;
  for (let index = 1; ; index += 1) {
    const before = cache.heldBytes();
    if (before + largest > cache.bound) return index - 1;
    await cache.add(index, size);
    const grown = cache.heldBytes() - before;
    idle = grown > 0 ? 0 : idle + 1;
    if (idle > (cache.idleAtMost ?? 0)) return index;
    largest = Math.max(largest, grown);
  }
}
