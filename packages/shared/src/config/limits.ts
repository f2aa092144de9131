/**
 * **Every limit on requests, memory and waits**, each with its reason. Exceeding one gives a specific error. Sizes are bytes
 * (characters for ASCII parameters); names of durations contain their unit.
 */
export const limits = {
  /** A form body; the largest legitimate one is a PAR request with a request object. */
  formBodyBytes: 64 * 1024,
  /** A request body, from the headers to the last byte: 64 KiB at 35 kbit/s. Only the sender waits for it. */
  bodyMs: 15_000,
  /** Parameters of one form; OIDC and OAuth together define fewer than 50. */
  formParameters: 64,
  /** Nested `act` members (RFC 8693 §4.1) and exchanges in a row; deeper chains are loops. */
  actorDepth: 4,
  /** Values of `aud`, and repeated `audience` and `resource` parameters together. */
  audiences: 16,
  /** Revoked rows that a shard holds in memory with their keys; it knows the others by a filter, and finds them in storage. */
  leaseReplicaRows: 10_000,
  /**
   * The maximum number of rows that a shard sends with their keys to an isolate without a replica, about 30 KB. It sends a larger set as a filter.
   */
  leaseSnapshotRows: 500,
  /**
   * The limits on snapshots that a shard or a relay sends to holders without a replica: 0.1 s of its thread per second, and an eighth of its
   * isolate's memory at a time. Holders beyond them check exactly and try again. Smaller responses are not paced.
   */
  leaseSnapshots: { bytesPerSecond: 32 * 1024 * 1024, bytesInFlight: 16 * 1024 * 1024, freeBytes: 32 * 1024 },
  /** Parameters that a browser posted from another site, kept until its next request. */
  postedParametersBytes: 32 * 1024,
  /** A token longer than this is verified each time instead of being cached (an entry of the largest ones has about 14 KB). */
  cachedTokenBytes: 4096,
  /** A fetch of a client's URL (jwks_uri, request_uri, logout): total time. */
  outboundFetchMs: 2_500,
  /** A fetch of a client's metadata document: total time. A person waits for it. */
  clientDocumentMs: 4_000,
  /** A client's metadata document (draft-ietf-oauth-client-id-metadata-document-02 §8.7). */
  clientDocumentBytes: 5 * 1024,
  /** Fetches of an isolate from one host in a minute, whatever the URLs: of documents of clients and of sectors … */
  documentFetchesPerMinute: 10,
  /** … and of key sets, since one host may have those of many clients, each fetched again after five minutes. */
  keyFetchesPerMinute: 60,
  /** A fetch of a client's URL: body. */
  outboundFetchBytes: 64 * 1024,
  /** A fetch of a client's logo: total time. A page waits for it. */
  clientLogoMs: 1_500,
  /**
   * Lifetime of a client assertion, `exp − iat` (RFC 7523 §3 leaves it open): common libraries sign for an hour. Its `jti` is remembered for as long.
   */
  assertionLifetimeSeconds: 3600,
  /** Life of an ID-JAG that this provider issues: the client sends it at once, and gets a new one for each access token. */
  idJagSeconds: 300,
  /** The maximum lifetime of a request object: `exp` ahead, `nbf` and `iat` old (FAPI 2.0 Message Signing §5.3.1). */
  requestObjectLifetimeSeconds: 3600,
  /** One call of an object, queueing included; a slower one is 503 (revoke adds its wait for leases to this). */
  objectCallMs: 5_000,
  /** The probe of an object that has not responded for `objectCallMs` and may be waiting. */
  probeMs: 1_500,
  /** An acknowledgement that waited longer for lease holders is logged; without faults it takes a few network legs. */
  slowAcknowledgementMs: 500,
  /** A shard waits this long for the control plane, then registers in D1 too. */
  controlPlaneMs: 1_000,
  /** A request that needs a lease waits this long for the isolate's relay, then calls the shard. */
  relayCallMs: 300,
  /** The renewal of a relay's lease on a shard, beside the length of the lease; the relay tries again after that. */
  relayUpstreamMs: 1_000,
  /**
   * Records that changes carry to isolates, as JSON: one, and all that an object holds and a response contains. A larger one is read from D1. About
   * 2 KB for a client, 20 KB for a schedule with every algorithm.
   */
  changeRecords: { eachCharacters: 32 * 1024, allCharacters: 64 * 1024, perAnnouncement: 8 },
  /** Revoked rows that a relay holds of all shards together, about 200 bytes each. Isolates call the shards beyond it. */
  relayRows: 150_000,
  /** One shard's statistics; a slower one is named as unreachable. */
  statisticsCallMs: 2_000,
  /** One D1 query; a slower one is 503. With a KV read before it, shorter than a shared call. */
  databaseCallMs: 4_000,
  /** The change log is read a second time when the first read takes longer: one lost query is no outage. */
  databaseAgainMs: 1_000,
  /** The commit of an administrative change; a slower one is 503, and in force if D1 carries it out later. */
  databaseCommitMs: 10_000,
  /** The maximum size of a D1 database and of an object's database, set by the platform. */
  databaseBytes: 10_000_000_000,
  /** How long discovery waits for all stores together. It then responds with the last known values. */
  discoveryMs: 1_000,
  /** One KV read; a slower one is a miss. */
  cacheReadMs: 300,
  /** Records that a request of an isolate without a control version names, read from KV before anything has verified the names. */
  readAhead: 8,
  /** One KV write, in the background; a slower one is abandoned. */
  cacheWriteMs: 5_000,
  /** Shards that are called in turn for the control version alone. */
  confirmingShards: 4,
  /** The next of them is called when the ones before it have failed or have not responded for this long; `objectCallMs` in total. */
  controlShardMs: 1_000,
  /** How long a decision may be used for requests that equal the one that it was made for. */
  rememberedMs: 10_000,
  /** The maximum length of the credentials and body of a request whose decision is remembered. */
  rememberedCharacters: 8_192,
  /** A decision is not repeated later than this after its first attempt, except once. */
  settleMs: 5_000,
  /**
   * A token is not taken for unrevoked longer than this after the arrival of its request: the row that revokes a token is kept for as long after the
   * token has expired.
   */
  decisionMs: 60_000,
  /** A client's registration of itself: its body, and its record as JSON. The limit for metadata documents of clients is half of it. */
  registrationBytes: 10 * 1024,
  /** Clients that registered themselves within `CLIENT_UNUSED_LIFETIME` and that nobody has agreed to yet: 100 MB of D1. */
  unusedRegistrations: 10_000,
  /** An admin API body. */
  jsonBodyBytes: 256 * 1024,
} as const;

const kilobyte = 1024;
const megabyte = 1024 * kilobyte;

/** The memory limit of the platform per isolate. */
export const isolateBytes = 128 * megabyte;

/**
 * **The byte limits of the caches of an isolate**: half of {@link isolateBytes} in total. The other half is for the code, requests in
 * progress (64 KiB of body each) and uncollected garbage. Sizes are estimates (runtime/isolate-cache.ts). A full cache evicts its
 * oldest entries, which are read or verified again when needed.
 */
export const isolateMemory = {
  /** Verified tokens with their texts: about 4,650 of 700 characters, or 870 of the largest. A miss costs one verification. */
  verifiedTokens: 12.375 * megabyte,
  /** Decisions on requests that may be repeated: about 600. A miss costs the CPU of deciding. */
  decisions: 2 * megabyte,
  /** Clients by the header with their secret: about 500. A miss costs the comparison of a secret. */
  knownCredentials: 512 * kilobyte,
  /** Keys of DPoP proofs by their headers: about 500. A miss costs the import of a key. */
  proofKeys: megabyte,
  /** Accepted DPoP proofs: about 3,000. If proofs are also spent in an object, the object decides. */
  seenProofs: 512 * kilobyte,
  /** Revoked rows of all shards together, at most 36 bytes each, or 1.3 in a filter. Beyond it a shard is called for each check. */
  revocationReplicas: 16 * megabyte,
  /** Clients with their registered keys and matched secrets: about 2,500 of them. A miss costs a KV read. */
  clients: 5 * megabyte,
  /** Trusted issuers with their rules and keys: 10 of the largest, or 400. A miss costs a KV read. */
  trustedIssuers: 1.5 * megabyte,
  /** Issuers that tokens name and that are not trusted: about 1,000 of the longest names. */
  absentIssuers: 512 * kilobyte,
  /** Metadata of issuers, and their URLs that were renewed, that failed, that are being fetched. A miss costs a fetch of the issuer's server. */
  issuerMetadata: 512 * kilobyte,
  /** Upstream providers: one entry, of at most 50 records. */
  upstreams: 256 * kilobyte,
  /** Metadata of upstream providers, and their URLs that were renewed, that failed, that are being fetched. A miss costs a fetch of their servers. */
  upstreamMetadata: 256 * kilobyte,
  /** Users with their claims: about 5,000. A miss costs a KV read. */
  users: 4 * megabyte,
  /** Roles, groups and permissions of users. A miss costs a KV read. */
  rbacClaims: 2.25 * megabyte,
  /** Memberships of organisations with their roles and permissions, about 2,000, and the organisations. A miss costs a KV read. */
  memberships: megabyte,
  organizations: 512 * kilobyte,
  /** The attributes that are mapped to claims: one entry, of 64 K characters at most. */
  attributes: 256 * kilobyte,
  /** Resources with their scopes: about 1,000. A miss costs a KV read. */
  resources: megabyte,
  /** Audiences that are not resources: about 1,000 of the longest ids. */
  absentResources: 512 * kilobyte,
  /** The resources that clients used most recently: about 1,000 clients. One that is lost costs one object call. */
  clientResources: 512 * kilobyte,
  /** The generation table: one entry. A row of 512 regions has about 80 KB. */
  generations: megabyte,
  /** Whether the authority contained ids that were not found, or whose credential did not match: about 4,000 of the longest ids. */
  presence: 2 * megabyte,
  /** Key sets of clients' `jwks_uri`; the largest one has about 2.5 MB. A miss costs a fetch of the client's server. */
  clientKeySets: 4 * megabyte,
  /** Each of three: URIs that were fetched again, that failed, that are being fetched. A URI has at most 2,048 characters. */
  clientKeyUris: 512 * kilobyte,
  /** Metadata documents of clients: about 110. A miss costs a fetch or a KV read. */
  clientDocuments: 384 * kilobyte,
  /** Logos of clients that are known by a metadata document, as data URLs: 4 of the largest. A miss costs a fetch of the client's server. */
  clientLogos: 384 * kilobyte,
  /** Counters of fetches by host, about 200 hosts in a quarter: of key sets half, of documents and of sectors a quarter each. */
  hostBudgets: 128 * kilobyte,
  /** The policies for hosts of documents: one entry, of at most 200 hosts. */
  documentHosts: 128 * kilobyte,
  /** Each of three, for documents and for logos: URLs that were fetched again, that failed, that are being fetched. */
  clientDocumentUrls: 96 * kilobyte,
  clientLogoUrls: 32 * kilobyte,
  /** Clients whose use was noted in the last day. One that is lost is noted again. */
  notedClients: 128 * kilobyte,
  /** Sums of the requests of a minute, by what they have in common. Beyond it they are written at once. */
  requestMetrics: 128 * kilobyte,
  /** Counters of clients and addresses: about 6,000. One that is lost is counted anew. */
  rateCounters: 1.5 * megabyte,
  /** The ids that administrative changes named. When it is full the isolate discards every copy instead. */
  controlChanges: megabyte,
  /** The provider's own keys, which cannot be evicted: the schedule of an operator who rotates every algorithm every day. */
  signingKeys: megabyte,
} as const;
