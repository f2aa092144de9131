/**
 * **Further addresses of a person**: each is verified, identifies them when they forget their password, and receives mails about changes. The main
 * one is that of their claims. It cannot be removed; another one must become the main one first. All changes are made soon after a sign-in at the
 * level of the account.
 */

import { redirect } from "@edge-op/pages/respond-page";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { takeBackLinkTo, takeBackMs } from "@edge-op/shared/mail/sealed-links";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { peopleOf } from "@edge-op/shared/storage/people";
import type { User } from "@edge-op/shared/users/user";
import { listAddresses, type UserAddress, verifiedAddress } from "@edge-op/shared/users/user-addresses";
import type { PageRequest } from "../pages/frame.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { basisOf, type SignedInPerson } from "../session/signed-in-person.ts";
import { changeAs, writeAs } from "../session/write-as.ts";
import { accountPages, primaryPath, removePath } from "./account-areas.ts";
import { type AccountNotice, accountWith, backWith } from "./account-notices.ts";
import { requireAddressLevel } from "./change-address.tsx";
import { isOwnAddress, mainChange, mostAddresses, setClaims } from "./commit-address.ts";
import { confirmation, named } from "./confirm-removal.tsx";
import { asPersonPosting, mayChangeNow } from "./require-person.ts";

const isMain = "EXISTS (SELECT 1 FROM users WHERE sub = ?1 AND lower(claims ->> '$.email') = ?2)";

export interface OtherAddress extends UserAddress {
  /** Of those that the person has, and of those that can be taken back. */
  readonly isOldest: boolean;
}

/** The further address that a form or a link names; `undefined` for the main one, and for those of others. Cost: 1 D1 call. */
export async function findOther({ context }: Pick<PageRequest, "context">, { sub, claims }: User, key: string) {
  const addresses = await listAddresses(context.env.DB, sub);
  const row = addresses.find((each) => each.key === key && each.heldUntilMs === undefined);
  if (row === undefined || verifiedAddress(claims)?.key === key) return undefined;
  const inForce = addresses.filter(({ heldUntilMs = Infinity }) => heldUntilMs > context.arrivedAtMs);
  return { ...row, isOldest: inForce.every(({ verifiedAtMs }) => row.verifiedAtMs <= verifiedAtMs) };
}

type Change = (context: RequestContext<AuthEnv>, person: SignedInPerson, address: OtherAddress) => Promise<boolean>;

function changeOther(change: Change, done: AccountNotice) {
  return (at: PageRequest) =>
    asPersonPosting(at, async (person, form) => {
      const elsewhere = await requireAddressLevel(at, person);
      if (elsewhere !== undefined) return elsewhere;
      if (!(await mayChangeNow(at, person.user.sub))) return backWith(at, "too-many-changes");
      const address = await findOther(at, person.user, form.get("address") ?? "");
      const isDone = address !== undefined && (await change(at.context, person, address));
      return isDone ? accountWith(at.context, done) : redirect(accountPages.you);
    });
}

/** **Makes a further address the main one**: that of the claims. The previous one stays. Cost: tell-person.ts and one control change. */
export const commitPrimary: Change = async (context, person, { key, address }) => {
  const { sub, claims } = person.user;
  const changed = { action: "address.changed", target: sub, actor: sub };
  const statements = [
    setClaims(context, { sub, key, address }, isOwnAddress),
    recordAdminEvent(context, changed, { ifChanged: true }),
  ];
  const notice = { sub, claims, kind: "address-changed", evidence: changed } as const;
  const isChanged = await tellPerson(context, notice, async () => {
    const { results } = await changeAs(context, mainChange(context, person), statements, {
      changes: [{ kind: "user", id: sub }],
    });
    return results[0]?.meta.changes === 1;
  });
  wakeAuditLog(context);
  return isChanged;
};

/**
 * **Removes a further address**: it no longer identifies anybody, nobody else can use it for a week, and it receives a mail, with a link that undoes
 * the removal if it is the oldest one. Cost: tell-person.ts and 1 D1 call.
 */
export const commitRemoval: Change = async (context, person, { key, address, isOldest }) => {
  const { sub, claims } = person.user;
  const { env, arrivedAtMs } = context;
  const removed = { action: "address.removed", target: sub, actor: sub };
  const hold = peopleOf(env.DB)
    .prepare(
      `UPDATE user_addresses SET held_until_ms = ?3 WHERE address_key = ?2 AND sub = ?1 AND held_until_ms IS NULL AND NOT ${isMain}`,
    )
    .bind(sub, key, arrivedAtMs + takeBackMs);
  const undo = isOldest ? { address, path: await takeBackLinkTo(env, { sub, key }) } : undefined;
  const notice = { sub, claims, kind: "address-removed", evidence: removed, undo } as const;
  const isRemoved = await tellPerson(context, notice, async () => {
    const event = recordAdminEvent(context, removed, { ifChanged: true });
    return writeAs(context, basisOf(person), [hold, event]);
  });
  if (isRemoved) wakeAuditLog(context);
  return isRemoved;
};

/** Cost: 3 object calls, 2 D1 calls, and one control change. */
export const makePrimary = changeOther(commitPrimary, "address-changed");
/** Cost: 3 object calls, 3 D1 calls. */
export const removeOtherAddress = changeOther(commitRemoval, "address-removed");

function confirmOther(action: string, texts: "primary" | "remove") {
  return confirmation("address", async (at, person, { t }) => {
    const key = named(at, "address");
    const elsewhere = await requireAddressLevel(at, person, `${action}?${new URLSearchParams({ address: key })}`);
    if (elsewhere !== undefined) return elsewhere;
    const other = await findOther(at, person.user, key);
    if (other === undefined) return undefined;
    const { address } = other;
    return {
      ...{ action, title: t(`addresses.${texts}Title`), text: t(`addresses.${texts}Text`, { address }) },
      submit: t(`addresses.${texts}Submit`),
      effect: texts === "remove" ? "removal" : "change",
    };
  });
}

export const confirmPrimary = confirmOther(primaryPath, "primary");
export const confirmRemoveAddress = confirmOther(removePath, "remove");

/** Whether a person may add another one. */
export function mayAddAddress(addresses: readonly UserAddress[], { claims }: Pick<User, "claims">): boolean {
  const verified = addresses.filter(({ heldUntilMs }) => heldUntilMs === undefined);
  return verified.length < mostAddresses && verifiedAddress(claims) !== undefined;
}
