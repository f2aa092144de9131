import { isNumber, isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { openSealed, sealText } from "@edge-op/shared/secrets/seal";
import type { NoticeKind, PreparedNotice } from "@edge-op/shared/users/mail-sender-rpc";

/** For a person, before the addresses are known. */
export type PersonMail = Omit<PreparedNotice, "id">;

export interface AddressedMail {
  readonly to: string;
  /** The person's language tag, if they have one. */
  readonly locale?: string | undefined;
  readonly kind: NoticeKind;
  readonly atMs: number;
}

const isPersonMail = objectOf<PersonMail>({
  sub: isText,
  kind: isText,
  atMs: isNumber,
  evidence: objectOf<PersonMail["evidence"]>({ action: isText, target: isText, requestId: isText }),
});
const isAddressedMail = objectOf<AddressedMail>({ to: isText, kind: isText, atMs: isNumber });

/** **The content of a mail while it waits**: sealed, and bound to the mail's id, so a content opens only in its own row. */
export function sealMail(env: MasterKeyBindings, id: string, content: PersonMail | AddressedMail): Promise<string> {
  return sealText(env, "mail-seal", JSON.stringify(content), { bound: id });
}

/** `undefined` after a master key was lost. */
export async function openPersonMail(
  env: MasterKeyBindings,
  id: string,
  sealed: string,
): Promise<PersonMail | undefined> {
  const text = await openSealed(env, "mail-seal", sealed, id);
  return text === undefined ? undefined : readStored("mail for a person", text, isPersonMail);
}

export async function openAddressedMail(
  env: MasterKeyBindings,
  id: string,
  sealed: string,
): Promise<AddressedMail | undefined> {
  const text = await openSealed(env, "mail-seal", sealed, id);
  return text === undefined ? undefined : readStored("mail for an address", text, isAddressedMail);
}
