import { type Browser, identifyBrowser } from "@edge-op/pages/cookies";
import { redirect } from "@edge-op/pages/respond-page";
import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { readStored } from "@edge-op/protocol/encoding/stored-json";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { openSealed, sealText } from "@edge-op/shared/secrets/seal";
import type { PageRequest } from "../pages/frame.ts";
import { ShownError } from "../pages/serve-page.tsx";
import { readAccounts } from "../session/browser-accounts.ts";
import { type Flow, isFlow, type Marks, type Purpose } from "./flow.ts";
import type { BegunFlow, Step, StepName } from "./step.ts";

/** The time from the first page of a flow to its end. */
export const flowMs = 30 * 60_000;
/** An older flow can only be begun again, and one that is older than this only at the application. */
const restartableMs = 24 * 3_600_000;

/** Longer ones are stored: browsers and servers accept URLs of 8 KiB and more. */
const longestSealed = 6 * 1024;

/** The flow of a page, whose browser has been checked. */
export interface OpenFlow {
  readonly flow: Flow;
  readonly browser: Browser;
}

/** **A new flow of this browser.** Cost: 0. */
export async function newFlow(
  { context, isolate, request }: PageRequest,
  purpose: Purpose,
  marks: Marks = {},
): Promise<Flow> {
  const fid = randomBase64Url(16);
  // All sessions of a browser are in one shard, where one call can replace each of them.
  const [account] = (await readAccounts(context, request)).all;
  const shard = await isolate.sessions.shardOf(context, account?.id, fid);
  return { fid, startedAtMs: context.arrivedAtMs, purpose, shard, proofs: [], isOpened: false, marks };
}

/**
 * **The path of a step's page with its flow**: AES-256-GCM, bound to the browser, so that a link to it does not work elsewhere. A problem is sealed
 * for this page alone. A flow of more than 6 KiB is stored as a challenge. Cost: 0; 1 object call for such a flow.
 */
export async function pathOf(
  { context, isolate }: PageRequest,
  flow: Flow,
  { id }: Browser,
  page: StepName | "restart",
): Promise<string> {
  const text = JSON.stringify({ ...flow, problemAt: flow.problem === undefined ? undefined : page });
  const sealed = await sealText(context.env, "flow-seal", text, { bound: id });
  const isShort = sealed.length <= longestSealed;
  const f = isShort ? sealed : await isolate.challenges.put(context, "flow", sealed, flow.startedAtMs + flowMs);
  return `/flow/${page}?${new URLSearchParams({ f })}`;
}

/** Opens the flow of a page of this browser, at most `forMs` old. Cost: 0; 1 object call for a stored flow. */
export async function openFlow(
  { context, isolate, request }: PageRequest,
  f: string | undefined,
): Promise<OpenFlow & { readonly age: "live" | "expired" | "over" }> {
  const browser = await identifyBrowser(context, request);
  const isReference = f?.startsWith("ch.") === true;
  const sealed = isReference ? await isolate.challenges.peek(context, "flow", f) : f;
  const isSealed = sealed !== undefined && /^[A-Za-z0-9_-]{40,}$/.test(sealed);
  const text = isSealed ? await openSealed(context.env, "flow-seal", sealed, browser.id) : undefined;
  // Another browser's flow is refused: a link to it must not sign a person in to someone else's request.
  if (text === undefined) throw expired("flow-invalid");
  const flow = readStored("flow", text, isFlow);
  const ageMs = context.arrivedAtMs - flow.startedAtMs;
  return { flow, browser, age: ageMs > restartableMs ? "over" : ageMs > flowMs ? "expired" : "live" };
}

export function expired(reason: RefusalReason): ShownError {
  return new ShownError("invalid_request", reason, { description: "The page has expired or was already used." });
}

/** **Redirects to the sign-in page, which returns to a path of this origin**, for the active account if there are several. Cost: 0. */
export async function signInFor(
  at: PageRequest,
  path: string,
  { requiredAcr, ...marks }: Marks & { readonly requiredAcr?: readonly string[] | undefined } = {},
): Promise<Response> {
  const browser = await identifyBrowser(at.context, at.request);
  const { active } = await readAccounts(at.context, at.request);
  const bound = { account: active?.sub, ...marks };
  const flow = await newFlow(at, { kind: "account", path: inSameLanguage(at, path), requiredAcr }, bound);
  return redirect(await pathOf(at, flow, browser, "sign-in"), [browser.setCookie]);
}

/** The path with the `ui_locales` of the page that needs the sign-in. */
function inSameLanguage({ request }: PageRequest, path: string): string {
  const locales = new URL(request.url).searchParams.get("ui_locales");
  if (locales === null || path.includes("ui_locales=")) return path;
  return `${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams({ ui_locales: locales })}`;
}

/** **The path to the page for a further proof of a person**, of a step that has begun. Cost: that of `begin`, else 0. */
export async function pathToProof(
  at: PageRequest,
  { flow, browser }: Pick<BegunFlow, "flow" | "browser">,
  step: Step,
  sub: string,
): Promise<string> {
  const begun = step.begin === undefined ? flow : { ...flow, ...(await step.begin({ ...at, flow, browser }, sub)) };
  return pathOf(at, begun, browser, step.name);
}
