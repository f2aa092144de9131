/** **Requests and responses of `/admin/branding`**. */

import { faultOf, lookSettings, type recordMembers } from "@edge-op/pages/branding";
import { fonts, mostRadius } from "@edge-op/pages/look";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import {
  type BrandingId,
  type BrandingRecord,
  largestBranding,
  readBrandingRecord,
  textPlaces,
} from "@edge-op/shared/config/branding-record";
import { textLanguages } from "@edge-op/shared/config/text-languages";
import { visibleText } from "@edge-op/shared/http/plain-text";
import { previewToken } from "@edge-op/shared/mail/sealed-links";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { upstreamsId } from "@edge-op/shared/upstreams/upstream";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import {
  formatEtag,
  mayBeConflict,
  nextVersion,
  requireMatch,
  retryOnConflict,
} from "../admin/optimistic-concurrency.ts";

/** What the settings refuse is refused here, with the same reason. */
function asSetting<Value extends z.ZodType<string | number>>(value: Value, member: keyof typeof lookSettings) {
  return value
    .superRefine((given, issues) => {
      const message = faultOf(member, given);
      if (message !== undefined) issues.addIssue({ code: "custom", message });
    })
    .exactOptional()
    .describe(`In place of ${lookSettings[member].variable}.`);
}

const color = (member: keyof typeof lookSettings) => asSetting(z.string().max(7), member);
/** A logo is part of each page, so one as data is small. */
const logo = (member: keyof typeof lookSettings) => asSetting(z.string().max(8_192), member);

const texts = (longest: number) =>
  z
    .record(z.string(), visibleText(longest))
    .superRefine((byLanguage, issues) => {
      for (const tag of Object.keys(byLanguage).filter((each) => !Object.hasOwn(textLanguages, each))) {
        issues.addIssue({ code: "custom", path: [tag], message: "must be a language of the pages, such as de" });
      }
    })
    .exactOptional();

const places = Object.fromEntries(
  Object.entries(textPlaces).map(([place, longest]) => [place, texts(longest)]),
) as Record<keyof typeof textPlaces, ReturnType<typeof texts>>;

const members = {
  logo_url: logo("logoUrl"),
  logo_url_dark: logo("logoUrlDark"),
  brand_color: color("brandColor"),
  brand_color_dark: color("brandColorDark"),
  background_color: color("background"),
  background_color_dark: color("backgroundDark"),
  corner_radius: asSetting(z.int().min(0).max(mostRadius), "cornerRadius"),
  font: z.enum(fonts).exactOptional().describe("In place of FONT."),
  texts: z.strictObject(places).exactOptional().describe("Texts of your own, by place and language. Plain text."),
} satisfies Record<keyof typeof recordMembers | "texts", z.ZodType>;

const bodySchema = z
  .strictObject(members)
  .refine((record) => JSON.stringify(record).length <= largestBranding, {
    message: `must have at most ${largestBranding} characters`,
  })
  .meta({ id: "BrandingReplacement" });

const brandingSchema = z
  .strictObject({
    id: z.enum(["current", "draft"]),
    ...members,
    updated_at: z.int().exactOptional().describe("When it was saved. Absent: there is none, and the settings apply."),
    preview: z
      .string()
      .exactOptional()
      .describe("Of a draft: shows it for an hour at `/flow/preview/{page}?preview={preview}`."),
  })
  .meta({
    id: "Branding",
    examples: [{ id: "current", brand_color: "#8a1253", corner_radius: 4, updated_at: 1795000000 }],
  });

const path = "/branding/{branding_id}";
const scope = "admin:clients";
const headers = ["ETag"] as const;
const preconditions = ["If-Match"] as const;

interface Row {
  readonly document: BrandingRecord;
  /** 0: there is none. */
  readonly updatedAtMs: number;
}

function requireId(id: string): BrandingId {
  if (id === "current" || id === "draft") return id;
  throw new OAuthError("not_found", "resource-not-found");
}

async function find(database: D1Database, id: BrandingId): Promise<Row> {
  const statement = database.prepare("SELECT document, updated_at_ms FROM branding WHERE id = ?1").bind(id);
  const row = await queryDatabase(() => statement.first<{ document: string; updated_at_ms: number }>());
  if (row === null) return { document: {}, updatedAtMs: 0 };
  return { document: readBrandingRecord(row.document), updatedAtMs: row.updated_at_ms };
}

type Env = Parameters<typeof previewToken>[0];

async function show(env: Env, id: BrandingId, { document, updatedAtMs }: Row) {
  const isSaved = updatedAtMs > 0;
  const body = {
    ...document,
    id,
    ...(isSaved ? { updated_at: toSeconds(updatedAtMs) } : {}),
    ...(isSaved && id === "draft" ? { preview: await previewToken(env, updatedAtMs, nowMs()) } : {}),
  };
  return { body: body as z.output<typeof brandingSchema>, headers: { ETag: formatEtag(updatedAtMs) } };
}

/** A draft is seen in previews alone, so no isolate has to forget anything. */
const forgetOf = (id: BrandingId) => (id === "current" ? [{ kind: "upstreams", id: upstreamsId } as const] : []);

const read = defineRoute({
  method: "GET",
  path,
  operationId: "readBranding",
  summary:
    "Shows the branding of pages and mails that administrators have saved: `current` is in force, `draft` is tried. Without one, it is empty.",
  scope,
  response: { status: 200, description: "The record.", schema: brandingSchema, headers },
  async handle({ context: { env }, parameter }) {
    const id = requireId(parameter("branding_id"));
    return show(env, id, await find(env.DB, id));
  },
});

const replace = defineRoute({
  method: "PUT",
  path,
  operationId: "replaceBranding",
  summary:
    "Saves the branding of pages and mails. A member that is absent is as in the settings. `current` is in force everywhere when the call returns.",
  scope,
  body: bodySchema,
  preconditions,
  response: { status: 200, description: "The record.", schema: brandingSchema, headers },
  async handle(call) {
    const { env } = call.context;
    const id = requireId(call.parameter("branding_id"));
    const document: BrandingRecord = call.body;
    return retryOnConflict(async () => {
      const before = await find(env.DB, id);
      requireMatch(call.ifMatch, formatEtag(before.updatedAtMs));
      const updatedAtMs = nextVersion(before.updatedAtMs, nowMs());
      const changed = changedMembers(before.document, document);
      try {
        await commitChange(call, {
          statements: [store(env.DB, id, { document, updatedAtMs }, before.updatedAtMs)],
          forget: forgetOf(id),
          event: { action: id === "current" ? "branding.update" : "branding.draft", target: id, detail: { changed } },
        });
      } catch (cause) {
        const isOutdated = mayBeConflict(cause) && (await find(env.DB, id)).updatedAtMs !== before.updatedAtMs;
        if (isOutdated) return undefined;
        throw cause;
      }
      return show(env, id, { document, updatedAtMs });
    });
  },
});

const remove = defineRoute({
  method: "DELETE",
  path,
  operationId: "deleteBranding",
  summary: "Deletes the saved branding: the settings apply again, everywhere when the call returns.",
  scope,
  response: { status: 204, description: "The settings apply." },
  async handle(call) {
    const { DB } = call.context.env;
    const id = requireId(call.parameter("branding_id"));
    const before = await find(DB, id);
    if (before.updatedAtMs === 0) throw new OAuthError("not_found", "resource-not-found");
    await commitChange(call, {
      statements: [DB.prepare("DELETE FROM branding WHERE id = ?1").bind(id)],
      forget: forgetOf(id),
      event: { action: "branding.delete", target: id, detail: { before: Object.keys(before.document) } },
    });
    return { body: undefined };
  },
});

/** Fails, together with its transaction, if another version than `known` is stored, because a document may not be NULL. */
function store(database: D1Database, id: BrandingId, { document, updatedAtMs }: Row, known: number) {
  return database
    .prepare(
      `INSERT INTO branding (id, document, updated_at_ms)
         VALUES (?1, iif(coalesce((SELECT updated_at_ms FROM branding WHERE id = ?1), 0) = ?4, ?2, NULL), ?3)
         ON CONFLICT (id) DO UPDATE SET document = excluded.document, updated_at_ms = excluded.updated_at_ms`,
    )
    .bind(id, JSON.stringify(document), updatedAtMs, known);
}

/** The names of the members that differ; of texts those of their places. */
function changedMembers(before: BrandingRecord, after: BrandingRecord): string[] {
  const flat = ({ texts: own = {}, ...others }: BrandingRecord) => new Map(Object.entries({ ...others, ...own }));
  const [from, to] = [flat(before), flat(after)];
  const names = [...new Set([...from.keys(), ...to.keys()])];
  return names.filter((name) => JSON.stringify(from.get(name)) !== JSON.stringify(to.get(name)));
}

/**
 * **`/admin/branding`**: the look and the texts of pages and mails, over the settings. A change is in force everywhere when the call returns. Cost: a
 * read 1 D1; a change 2 D1, and a round of the control plane for `current`.
 */
export const brandingRoutes: readonly AdminRoute[] = [read, replace, remove];
