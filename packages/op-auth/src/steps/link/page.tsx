import { displayName } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import type { StepPageRequest } from "../../step/step.ts";
import { findSubject, stepFrame } from "../../step/step-request.ts";
import { LinkPage } from "../../upstream/link-page.tsx";
import { peekPendingLink } from "../../upstream/pending-link.ts";

/** **The page that shows both identities.** Cost: 1 object call. */
export async function showLink(at: StepPageRequest): Promise<Response> {
  const { context, isolate, authorization, form, flow, restart } = at;
  const { link: mark } = flow.marks;
  const [user, link] = await Promise.all([findSubject(at), mark && peekPendingLink(context, isolate, mark.id)]);
  if (link === undefined || user?.sub !== link.sub) return redirect(restart);
  const frame = stepFrame(at);
  const page = <LinkPage frame={frame} link={link} user={displayName(user)} form={form} />;
  return respondPage(page, { formLeaves: authorization !== undefined });
}
