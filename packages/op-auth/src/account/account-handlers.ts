import {
  addPasskey,
  changePasskeyName,
  removeConsent,
  removeOtherSessions,
  removePasskey,
  removeSession,
} from "./account-actions.ts";
import { downloadData, showActivity } from "./activity.tsx";
import { showApplications } from "./applications-page.tsx";
import { changeAddress, showChangeAddress } from "./change-address.tsx";
import { addApp, removeOwnFactor, showAddApp } from "./change-apps.tsx";
import { changePassword, showChangePassword } from "./change-password.tsx";
import { chooseAccountOf, showChooseAccount } from "./choose-account-page.tsx";
import {
  confirmDeletion,
  confirmDownload,
  confirmEndOthers,
  confirmEndSession,
  confirmRemoveConsent,
  confirmRemoveFactor,
  confirmRemoveIdentity,
  confirmRemovePasskey,
} from "./confirm-removal.tsx";
import { deleteAccount, showLeaving } from "./delete-account.tsx";
import { showHome } from "./home.tsx";
import { askToConnect, beginConnecting, confirmConnecting, removeIdentity, showConnecting } from "./identities.tsx";
import { makeCodes, showMakeCodes } from "./new-recovery-codes.tsx";
import { confirmPrimary, confirmRemoveAddress, makePrimary, removeOtherAddress } from "./other-addresses.tsx";
import { changeName, changeOwnLanguage } from "./profile-sections.tsx";
import { beginReset, showReset } from "./reset-password.tsx";
import { showSecurity } from "./security-page.tsx";
import { showStop, stopOwn, submitStop } from "./stop-recovery.tsx";
import { showTakeBack, submitTakeBack } from "./take-back-pages.tsx";
import { showYou } from "./you-page.tsx";

/** **What serves the pages of a person's account**, by name: loaded by the first request for one of them. */
export const accountHandlers = {
  addApp,
  askToConnect,
  addPasskey,
  beginConnecting,
  beginReset,
  changeAddress,
  changeName,
  changeOwnLanguage,
  changePasskeyName,
  changePassword,
  chooseAccountOf,
  confirmConnecting,
  confirmDeletion,
  confirmDownload,
  confirmEndOthers,
  confirmEndSession,
  confirmPrimary,
  confirmRemoveAddress,
  confirmRemoveConsent,
  confirmRemoveFactor,
  confirmRemoveIdentity,
  confirmRemovePasskey,
  deleteAccount,
  downloadData,
  makeCodes,
  makePrimary,
  removeConsent,
  removeIdentity,
  removeOtherAddress,
  removeOtherSessions,
  removeOwnFactor,
  removePasskey,
  removeSession,
  showActivity,
  showAddApp,
  showApplications,
  showChangeAddress,
  showChangePassword,
  showChooseAccount,
  showConnecting,
  showHome,
  showLeaving,
  showMakeCodes,
  showReset,
  showSecurity,
  showStop,
  showTakeBack,
  showYou,
  stopOwn,
  submitStop,
  submitTakeBack,
} as const;

export type AccountHandlers = typeof accountHandlers;
