import {
  isFlag,
  isText,
  listOf,
  objectOf,
  readStored,
  recordOf,
  type Stored,
} from "@edge-op/protocol/encoding/stored-json";
import type * as z from "zod";
import { everyId, type StoredKind } from "../storage/record-kinds.ts";
import type { upstreamDocumentSchema } from "./upstream-schema.ts";

/** The document has the spelling of the admin API, as stored in D1. */
export type UpstreamDocument = Omit<Stored<z.output<typeof upstreamDocumentSchema>>, "status">;

/** **An upstream provider**, with which people sign in here. */
export interface Upstream {
  readonly upstreamId: string;
  readonly status: "active" | "disabled";
  readonly document: UpstreamDocument;
  /** Sealed; `null` if it has none. */
  readonly secret: string | null;
}

export interface UpstreamList {
  readonly upstreams: readonly Upstream[];
}

/** Maximum number of records, which form one copy. The admin API enforces it. */
export const mostUpstreams = 50;

/** The issuers of kinds that have one each, and no other. */
export const fixedIssuers = {
  google: "https://accounts.google.com",
  apple: "https://appleid.apple.com",
  github: "https://github.com/login/oauth",
} as const;

/** The context of the sealed secret: in another row it does not open. */
export function upstreamSeal(upstreamId: string): string {
  return `upstream ${upstreamId}`;
}

export const isUpstreamDocument = objectOf<UpstreamDocument>({
  name: isText,
  kind: isText<UpstreamDocument["kind"]>,
  client_id: isText,
  token_endpoint_auth_method: isText<UpstreamDocument["token_endpoint_auth_method"]>,
  claims: recordOf(isText),
  acr_map: recordOf(isText<"mfa" | "phr">),
  trusted_domains: listOf(isText),
  sign_up: isText<UpstreamDocument["sign_up"]>,
  link_only: isFlag,
  domains: listOf(isText),
  discovery: isText<UpstreamDocument["discovery"]>,
});

interface UpstreamRow {
  readonly upstream_id: string;
  readonly status: "active" | "disabled";
  readonly document: string;
  readonly secret: string | null;
}

/** All upstream providers: one record. */
export const storedUpstreams: StoredKind<UpstreamList> = {
  kind: "upstreams",
  ttlSeconds: 3600,
  query: {
    statement: (database) =>
      database.prepare("SELECT upstream_id, status, document, secret FROM upstreams ORDER BY upstream_id"),
    read: (rows) => ({ upstreams: (rows as readonly UpstreamRow[]).map(readUpstream) }),
  },
};

/** The id of the record. */
export const upstreamsId = everyId;

function readUpstream({ upstream_id: upstreamId, status, document, secret }: UpstreamRow): Upstream {
  return { upstreamId, status, document: readStored("upstream", document, isUpstreamDocument), secret };
}
