import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { openSealed, sealText } from "../secrets/seal.ts";
import type { TakenBack } from "./mail-sender-rpc.ts";

/**
 * **The content of the link by which a person takes a change of their account back**, sealed: it is stored nowhere. It works while what was changed is
 * there, for seven days, for the oldest address of the account. The address itself is the change if another one has replaced it.
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

const bound = "undo of an address";

/** The path and query of its page. */
export async function takeBackLinkTo(env: MasterKeyBindings, { sub, key, added }: TakeBackLink): Promise<string> {
  const content = added === undefined ? [sub, key] : [sub, key, added.kind, added.id];
  const undo = await sealText(env, "flow-seal", JSON.stringify(content), { bound });
  return `${takeBackPath}?${new URLSearchParams({ undo })}`;
}

/** `undefined` for text that this provider did not make. */
export async function openTakeBackLink(
  env: MasterKeyBindings,
  sealed: string | undefined,
): Promise<TakeBackLink | undefined> {
  const text = sealed === undefined ? undefined : await openSealed(env, "flow-seal", sealed, bound);
  if (text === undefined) return undefined;
  const [sub = "", key = "", kind, id = ""] = JSON.parse(text) as readonly string[];
  return kind === undefined ? { sub, key } : { sub, key, added: { kind: kind as TakenBack["kind"], id } };
}
