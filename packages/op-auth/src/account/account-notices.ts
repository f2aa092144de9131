import type { AuthKey } from "../pages/messages.ts";

/** **Notices of the account page after an action**: the value of `notice` in its URL, and the text. */
export const accountNotices = {
  "passkey-added": { isGood: true, text: "account.passkeyAdded" },
  "passkey-failed": { isGood: false, text: "account.passkeyFailed" },
  "passkey-renamed": { isGood: true, text: "account.passkeyRenamed" },
  "passkey-not-renamed": { isGood: false, text: "account.passkeyNotRenamed" },
  "access-removed": { isGood: true, text: "account.accessRemoved" },
  "session-ended": { isGood: true, text: "account.sessionEnded" },
  "others-ended": { isGood: true, text: "account.othersEnded" },
  "app-added": { isGood: true, text: "account.appAdded" },
  "factor-removed": { isGood: true, text: "account.factorRemoved" },
  "last-way-in": { isGood: false, text: "account.lastWayIn" },
  "name-changed": { isGood: true, text: "account.nameChanged" },
  "name-not-changed": { isGood: false, text: "account.nameNotChanged" },
  "address-changed": { isGood: true, text: "account.addressChanged" },
  "address-not-changed": { isGood: false, text: "account.addressNotChanged" },
  "address-added": { isGood: true, text: "account.addressAdded" },
  "address-not-added": { isGood: false, text: "account.addressNotAdded" },
  "address-removed": { isGood: true, text: "account.addressRemoved" },
  "identity-connected": { isGood: true, text: "account.identityConnected" },
  "identity-not-connected": { isGood: false, text: "account.identityNotConnected" },
  "identity-taken": { isGood: false, text: "account.identityTaken" },
  "identity-disconnected": { isGood: true, text: "account.identityDisconnected" },
  "last-identity": { isGood: false, text: "account.lastIdentity" },
  "not-changed": { isGood: false, text: "account.notChanged" },
  "too-many-changes": { isGood: false, text: "account.tooManyChanges" },
  "password-changed": { isGood: true, text: "account.passwordChanged" },
} as const satisfies Readonly<Record<string, { readonly isGood: boolean; readonly text: AuthKey }>>;

export type AccountNotice = keyof typeof accountNotices;

/** `undefined` for an unknown name. */
export function readNotice(name: string | null): AccountNotice | undefined {
  return name !== null && Object.hasOwn(accountNotices, name) ? (name as AccountNotice) : undefined;
}

export function accountWith(notice: AccountNotice): string {
  return `/account?notice=${notice}`;
}
