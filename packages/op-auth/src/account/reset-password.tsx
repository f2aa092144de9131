import { identifyBrowser } from "@edge-op/pages/cookies";
import { formToken, requireFormToken } from "@edge-op/pages/form-token";
import { MessagePage } from "@edge-op/pages/message-pages";
import { respondPage } from "@edge-op/pages/respond-page";
import { readForm } from "@edge-op/shared/http/read-form";
import { openResetLink, type ResetLink, resetPath } from "@edge-op/shared/mail/sealed-links";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import { proceed } from "../flow/proceed.ts";
import { frameOf, type PageRequest } from "../pages/frame.ts";
import { findRecoverable } from "../passwords/find-recovering.ts";
import { newFlow } from "../step/sealed-flow.ts";
import { ConfirmPage } from "./account-parts.tsx";

/**
 * **The page of the link that an administrator has mailed.** It changes nothing, so a program that opens links does not use it up. Cost: 1 D1 call; 0
 * for a link that this provider did not make.
 */
export async function showReset(at: PageRequest): Promise<Response> {
  const { context, request } = at;
  const token = new URL(request.url).searchParams.get("token") ?? "";
  if ((await findProof(at, token)) === undefined) return showGone(at);
  const frame = await frameOf(context, request);
  const { t } = frame;
  const browser = await identifyBrowser(context, request);
  const view = {
    ...{
      title: t("reset.title"),
      text: t("reset.text"),
      submit: t("reset.submit"),
      action: resetPath,
      effect: "change" as const,
    },
    fields: { token, form_token: await formToken(context, resetPath, browser.id) },
  };
  return respondPage(<ConfirmPage frame={frame} view={view} />, { cookies: [browser.setCookie] });
}

/**
 * **Begins the way to a new password**: the link proves the mailbox, as a mailed code does, so the steps after it ask for a second factor, if the
 * account has one. Nobody is signed in by it. Cost: 2 D1 calls after each other.
 */
export async function beginReset(at: PageRequest): Promise<Response> {
  const form = readForm(at.request);
  const browser = await identifyBrowser(at.context, at.request);
  await requireFormToken(at.context, resetPath, browser.id, form.get("form_token"));
  const proof = await findProof(at, form.get("token") ?? "");
  if (proof === undefined) return showGone(at);
  const flow = await newFlow(at, { kind: "account", path: "/account" });
  return proceed(at, { flow: { ...flow, proofs: [proof] }, browser });
}

/** `undefined` for a link that was not made here, has ended, or is of a person who cannot use it any more. */
async function findProof(at: PageRequest, token: string): Promise<Proof | undefined> {
  const { env, arrivedAtMs: atMs } = at.context;
  const link = await openResetLink(env, token, atMs);
  if (link === undefined) return undefined;
  const proof = proofOf(link, atMs);
  return (await findRecoverable(at, proof, "link")) === undefined ? undefined : proof;
}

function proofOf({ sub, key, controlVersion }: ResetLink, atMs: number): Proof {
  return { method: "mailedCode", sub, credential: key, atMs, controlVersion };
}

async function showGone({ context, request }: PageRequest): Promise<Response> {
  const frame = await frameOf(context, request);
  const { t } = frame;
  const link = { href: "/account", text: t("reset.toAccount") };
  const page = <MessagePage frame={frame} title={t("reset.title")} text={t("reset.gone")} link={link} sign="ended" />;
  return respondPage(page, { status: 400 });
}
