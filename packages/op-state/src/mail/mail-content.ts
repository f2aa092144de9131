import type { AccountMail } from "@edge-op/pages/mail/account-mails";
import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { isNumber, isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import type { CodeMail, PreparedNotice } from "@edge-op/shared/mail/mail-sender-rpc";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { openSealed, sealText } from "@edge-op/shared/secrets/seal";

/** For a person, before the addresses are known. */
export type PersonMail = Omit<PreparedNotice, "id"> & { readonly type: "notice" };
/** For an address, before it is known whose it is. */
export type WaitingCode = Pick<CodeMail, "purpose" | "to" | "code" | "atMs" | "sub" | "locale"> & {
  readonly type: "code";
};
/** A mail that waits for its recipients. */
export type WaitingMail = PersonMail | WaitingCode;

export type AddressedMail = AccountMail & { readonly to: string };

const isPersonMail = objectOf<PersonMail>({
  type: isText,
  sub: isText,
  kind: isText,
  atMs: isNumber,
  evidence: objectOf<PersonMail["evidence"]>({ action: isText, target: isText, requestId: isText }),
});
const isWaitingCode = objectOf<WaitingCode>({
  type: isText,
  purpose: isText,
  to: objectOf<WaitingCode["to"]>({ key: isText, address: isText }),
  code: isText,
  atMs: isNumber,
  locale: isText,
});
const isWaitingMail = (value: unknown): value is WaitingMail =>
  isJsonObject(value) && (value["type"] === "code" ? isWaitingCode(value) : isPersonMail(value));
const isAddressedMail = objectOf<AddressedMail>({ to: isText, kind: isText, atMs: isNumber });

/** **The content of a mail while it waits**: sealed, and bound to the mail's id, so a content opens only in its own row. */
export function sealMail(env: MasterKeyBindings, id: string, content: WaitingMail | AddressedMail): Promise<string> {
  return sealText(env, "mail-seal", JSON.stringify(content), { bound: id });
}

/** `undefined` after a master key was lost. */
export async function openWaitingMail(
  env: MasterKeyBindings,
  id: string,
  sealed: string,
): Promise<WaitingMail | undefined> {
  const text = await openSealed(env, "mail-seal", sealed, id);
  return text === undefined ? undefined : readStored("waiting mail", text, isWaitingMail);
}

export async function openAddressedMail(
  env: MasterKeyBindings,
  id: string,
  sealed: string,
): Promise<AddressedMail | undefined> {
  const text = await openSealed(env, "mail-seal", sealed, id);
  return text === undefined ? undefined : readStored("mail for an address", text, isAddressedMail);
}
