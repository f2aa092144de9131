import { identifyBrowser } from "@edge-op/pages/cookies";
import { MessagePage } from "@edge-op/pages/message-pages";
import { respondPage } from "@edge-op/pages/respond-page";
import { readForm } from "@edge-op/shared/http/read-form";
import { takeBackPath } from "@edge-op/shared/mail/sealed-links";
import { proceed } from "../flow/proceed.ts";
import { frameOf, type PageRequest } from "../pages/frame.ts";
import { WriteRefused } from "../session/write-as.ts";
import { newFlow } from "../step/sealed-flow.ts";
import { ConfirmPage } from "./account-parts.tsx";
import { type Change, findChange, takeBack } from "./take-back.ts";

/** **The page of the link that takes a change back.** It changes nothing, so a program that opens links takes nothing back. Cost: 1 D1 call. */
export async function showTakeBack({ context, request }: PageRequest): Promise<Response> {
  const sealed = new URL(request.url).searchParams.get("undo") ?? undefined;
  const change = await findChange(context, sealed);
  if (change === undefined || sealed === undefined) return respondGone({ context, request });
  const frame = await frameOf(context, request);
  const { t } = frame;
  const view = {
    title: t("takeBack.title"),
    text: t("takeBack.text", { address: change.address }),
    action: takeBackPath,
    fields: { undo: sealed },
    submit: t("takeBack.submit"),
  };
  return respondPage(<ConfirmPage frame={frame} view={view} />);
}

/**
 * **Takes a change back, and goes on to a new password**: whoever has the link reads the mails of the address, which is the proof of a recovery. A
 * session is not needed. Of two links at once, the second finds nothing to take back. Cost: 1 D1 call, then those of take-back.ts.
 */
export async function submitTakeBack(at: PageRequest): Promise<Response> {
  const { context, request } = at;
  const change = await findChange(context, readForm(request).get("undo"));
  if (change === undefined) return respondGone(at);
  const controlVersion = await takeBackOnce(context, change);
  if (controlVersion === undefined) return respondGone(at);
  const { sub, key: credential } = change;
  const proof = { method: "mailedCode", sub, credential, atMs: context.arrivedAtMs, controlVersion } as const;
  const flow = await newFlow(at, { kind: "account", path: "/account" });
  return proceed(at, { flow: { ...flow, proofs: [proof] }, browser: await identifyBrowser(context, request) });
}

async function takeBackOnce(context: PageRequest["context"], change: Change): Promise<number | undefined> {
  try {
    return await takeBack(context, change);
  } catch (error) {
    if (error instanceof WriteRefused) return undefined;
    throw error;
  }
}

async function respondGone({ context, request }: Pick<PageRequest, "context" | "request">): Promise<Response> {
  const frame = await frameOf(context, request);
  const { t } = frame;
  const link = { href: "/account", text: t("takeBack.toAccount") };
  const page = (
    <MessagePage frame={frame} title={t("takeBack.title")} text={t("takeBack.gone")} link={link} sign="ended" />
  );
  return respondPage(page, { status: 400 });
}
