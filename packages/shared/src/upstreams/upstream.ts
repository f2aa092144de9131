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
import { type BrandingRecord, readBrandingRecord } from "../config/branding-record.ts";
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

/** What pages show that administrators have decided: one copy, which every page of a sign-in reads. */
export interface UpstreamList {
  readonly upstreams: readonly Upstream[];
  /** `null`: the settings. Absent from a copy that the previous release has written. */
  readonly branding?: BrandingRecord | null;
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

interface BrandingRow {
  readonly upstream_id: null;
  readonly document: string;
}

/** All upstream providers, and the branding in force: one record. */
export const storedUpstreams: StoredKind<UpstreamList> = {
  kind: "upstreams",
  ttlSeconds: 3600,
  query: {
    statement: (database) =>
      database.prepare(
        `SELECT upstream_id, status, document, secret FROM upstreams
         UNION ALL SELECT NULL, NULL, document, NULL FROM branding WHERE id = 'current' ORDER BY 1`,
      ),
    read(rows) {
      const found = rows as readonly (UpstreamRow | BrandingRow)[];
      const branding = found.find((row) => row.upstream_id === null);
      return {
        upstreams: found.flatMap((row) => (row.upstream_id === null ? [] : [readUpstream(row)])),
        branding: branding === undefined ? null : readBrandingRecord(branding.document),
      };
    },
  },
};

/** The id of the record. */
export const upstreamsId = everyId;

function readUpstream({ upstream_id: upstreamId, status, document, secret }: UpstreamRow): Upstream {
  return { upstreamId, status, document: readStored("upstream", document, isUpstreamDocument), secret };
}
