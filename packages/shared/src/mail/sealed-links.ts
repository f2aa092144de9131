import { isNumber, isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { macText, verifyMac } from "../secrets/mac.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { openSealed, sealText } from "../secrets/seal.ts";
import type { TakenBack } from "./mail-sender-rpc.ts";

/**
 * **The content of the link by which a person takes a change of their account back**, sealed: it is stored nowhere. It works while what was changed
 * is there, for seven days, for the oldest address of the account. The address itself is the change if another one has replaced it.
 */
export interface TakeBackLink {
  readonly sub: string;
  /** The address to which it was mailed. */
  readonly key: string;
  /** What was added; absent for an address that was replaced or removed. */
  readonly added?: TakenBack | undefined;
}

/** For so long an address can take a change back, and nobody else gets one that was replaced. */
export const takeBackMs = 7 * 86_400_000;
export const takeBackPath = "/account/address/undo";

const takeBack = "undo of an address";

/** The path and query of its page. */
export async function takeBackLinkTo(env: MasterKeyBindings, { sub, key, added }: TakeBackLink): Promise<string> {
  const content = added === undefined ? [sub, key] : [sub, key, added.kind, added.id];
  const undo = await sealText(env, "flow-seal", JSON.stringify(content), { bound: takeBack });
  return `${takeBackPath}?${new URLSearchParams({ undo })}`;
}

/** `undefined` for text that this provider did not make. */
export async function openTakeBackLink(
  env: MasterKeyBindings,
  sealed: string | undefined,
): Promise<TakeBackLink | undefined> {
  const text = sealed === undefined ? undefined : await openSealed(env, "flow-seal", sealed, takeBack);
  if (text === undefined) return undefined;
  const [sub = "", key = "", kind, id = ""] = JSON.parse(text) as readonly string[];
  return kind === undefined ? { sub, key } : { sub, key, added: { kind: kind as TakenBack["kind"], id } };
}

/**
 * **The content of the link of an administrator's reset**, sealed: it is stored nowhere. It proves the mailbox for a day, and ends with the first
 * change that ends what rests on a password, because it rests on a control version as a sign-in does (ADR 28): the new password itself is such a
 * change.
 */
export interface ResetLink {
  readonly sub: string;
  /** The address to which it was mailed. */
  readonly key: string;
  /** Confirmed before it was made. */
  readonly controlVersion: number;
  readonly untilMs: number;
}

/** NIST SP 800-63B-4 §4.2.1.1 */
export const resetLinkMs = 86_400_000;
export const resetPath = "/account/password/reset";

const reset = "link of a reset";
const isResetLink = objectOf<ResetLink>({ sub: isText, key: isText, controlVersion: isNumber, untilMs: isNumber });

/** The path and query of its page. */
export async function resetLinkTo(env: MasterKeyBindings, link: ResetLink): Promise<string> {
  const token = await sealText(env, "flow-seal", JSON.stringify(link), { bound: reset });
  return `${resetPath}?${new URLSearchParams({ token })}`;
}

/** `undefined` for text that this provider did not make, and for a link that has ended. */
export async function openResetLink(
  env: MasterKeyBindings,
  token: string,
  atMs: number,
): Promise<ResetLink | undefined> {
  const text = await openSealed(env, "flow-seal", token, reset);
  const link = text === undefined ? undefined : readStored("link of a reset", text, isResetLink);
  return link !== undefined && link.untilMs > atMs ? link : undefined;
}

/** The link that stops a recovery by mail alone: it names the one that was asked for, and stops no later one. */
export interface StopLink {
  readonly sub: string;
  readonly id: string;
}

export const stopPath = "/account/recovery/stop";

const stop = "stop of a recovery";
const isStopLink = objectOf<StopLink>({ sub: isText, id: isText });

/** The path and query of its page. */
export async function stopLinkTo(env: MasterKeyBindings, { sub, id }: StopLink): Promise<string> {
  const token = await sealText(env, "flow-seal", JSON.stringify({ sub, id }), { bound: stop });
  return `${stopPath}?${new URLSearchParams({ token })}`;
}

/** `undefined` for text that this provider did not make. */
export async function openStopLink(env: MasterKeyBindings, token: string): Promise<StopLink | undefined> {
  const text = await openSealed(env, "flow-seal", token, stop);
  return text === undefined ? undefined : readStored("link of a stop", text, isStopLink);
}

/**
 * **The secret of an invitation's link**: its id and a MAC over it, so that no row contains it. Whoever has it reads the mail of the address that was
 * invited.
 */
export async function invitationToken(env: MasterKeyBindings, id: string): Promise<string> {
  return `${id}.${await macText(env, "cookie-mac", textOf(id))}`;
}

/** The id of the invitation; `undefined` for text that this provider did not make. */
export async function readInvitationToken(env: MasterKeyBindings, token: string): Promise<string | undefined> {
  const [id = "", mac = "", ...rest] = token.split(".");
  const isGenuine = rest.length === 0 && (await verifyMac(env, "cookie-mac", textOf(id), mac));
  return isGenuine ? id : undefined;
}

function textOf(id: string): string {
  return `invitation\n${id}`;
}

const preview = "preview of a branding";
const previewMs = 3_600_000;

/** **The token of a preview**, sealed: it shows one version of the draft of a branding for an hour. */
export function previewToken(env: MasterKeyBindings, version: number, atMs: number): Promise<string> {
  return sealText(env, "flow-seal", JSON.stringify([version, atMs + previewMs]), { bound: preview });
}

/** The version; `undefined` for text that this provider did not make, and for a token that has ended. */
export async function openPreviewToken(
  env: MasterKeyBindings,
  token: string,
  atMs: number,
): Promise<number | undefined> {
  const text = await openSealed(env, "flow-seal", token, preview);
  const [version, untilMs = 0] = text === undefined ? [] : (JSON.parse(text) as readonly number[]);
  return untilMs > atMs ? version : undefined;
}
