import { brandingWith } from "@edge-op/pages/branding";
import { createFrame } from "@edge-op/pages/frame";
import { inScheme } from "@edge-op/pages/look";
import { respondPage } from "@edge-op/pages/respond-page";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { readBrandingRecord } from "@edge-op/shared/config/branding-record";
import { openPreviewToken } from "@edge-op/shared/mail/sealed-links";
import { onFirstUse } from "@edge-op/shared/runtime/on-first-use";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { PageRequest } from "../pages/frame.ts";
import { authCatalog } from "../pages/messages.ts";
import { readDeployment } from "../runtime/deployment.ts";

/** Few isolates show a preview. */
const loadPages = onFirstUse(() => import("./preview-pages.tsx"));

/** A mail has its styles in attributes, and loads the logo alone. */
const mailPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src https:; frame-ancestors 'self'; sandbox allow-same-origin";

/**
 * **`GET /flow/preview/{page}`**: a page or a mail with invented content, in the branding that an administrator tries. Only the admin API makes its
 * token, so that nobody else can show a text of theirs on this origin. It does nothing, and only pages of this origin may frame it. `scheme` is that
 * of the preview, `light` or `dark`; the browser's without one. Cost: 1 D1 call.
 */
export async function showPreview({ context, request }: PageRequest, name: string): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const token = searchParams.get("preview") ?? "";
  const version = await openPreviewToken(context.env, token, context.arrivedAtMs);
  if (version === undefined) throw gone();
  const statement = context.env.DB.prepare("SELECT document FROM branding WHERE id = 'draft' AND updated_at_ms = ?1");
  const row = await queryDatabase(() => statement.bind(version).first<{ document: string }>());
  const { previews } = await loadPages();
  const show = Object.hasOwn(previews, name) ? previews[name] : undefined;
  if (row === null || show === undefined) throw gone();
  const tried = brandingWith(readDeployment(context.env), readBrandingRecord(row.document));
  const branding = { ...tried, hasOwnLook: true };
  const frame = { ...(await createFrame(context, request, branding, authCatalog)), location: undefined };
  const { settings } = context;
  const shown = await show({ frame, settings, nowMs: context.arrivedAtMs });
  const html = String(await shown.toString());
  const response = await respondPage(inScheme(html, searchParams.get("scheme")), { isPreview: true });
  if (typeof shown === "string") response.headers.set("Content-Security-Policy", mailPolicy);
  return response;
}

/** The token has ended, or another draft has been saved since. */
function gone(): OAuthError {
  return new OAuthError("not_found", "page-unknown");
}
