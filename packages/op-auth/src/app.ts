import { serveAsset } from "@edge-op/pages/assets";
import { changeLanguage, languagePath } from "@edge-op/pages/language-switch";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { Router } from "@edge-op/shared/http/router";
import { serveEndpoint } from "@edge-op/shared/http/serve-endpoint";
import { resetPath, stopPath, takeBackPath } from "@edge-op/shared/mail/sealed-links";
import { onFirstUse } from "@edge-op/shared/runtime/on-first-use";
import {
  addPasskey,
  changePasskeyName,
  removeConsent,
  removeOtherSessions,
  removePasskey,
  removeSession,
} from "./account/account-actions.ts";
import { accountPages } from "./account/account-areas.ts";
import { downloadData, showActivity } from "./account/activity.tsx";
import { showApplications } from "./account/applications-page.tsx";
import { changeAddress, showChangeAddress } from "./account/change-address.tsx";
import { addApp, removeOwnFactor, showAddApp } from "./account/change-apps.tsx";
import { changePassword, showChangePassword } from "./account/change-password.tsx";
import {
  confirmDeletion,
  confirmDownload,
  confirmEndOthers,
  confirmEndSession,
  confirmRemoveConsent,
  confirmRemoveFactor,
  confirmRemoveIdentity,
  confirmRemovePasskey,
} from "./account/confirm-removal.tsx";
import { deleteAccount, showLeaving } from "./account/delete-account.tsx";
import { showHome } from "./account/home.tsx";
import {
  askToConnect,
  beginConnecting,
  confirmConnecting,
  removeIdentity,
  showConnecting,
} from "./account/identities.tsx";
import { makeCodes, showMakeCodes } from "./account/new-recovery-codes.tsx";
import {
  confirmPrimary,
  confirmRemoveAddress,
  makePrimary,
  primaryPath,
  removeOtherAddress,
  removePath,
} from "./account/other-addresses.tsx";
import { changeName, changeOwnLanguage, namePath, ownLanguagePath } from "./account/profile-sections.tsx";
import { beginReset, showReset } from "./account/reset-password.tsx";
import { showSecurity } from "./account/security-page.tsx";
import { ownStopPath, showStop, stopOwn, submitStop } from "./account/stop-recovery.tsx";
import { showTakeBack, submitTakeBack } from "./account/take-back-pages.tsx";
import { showYou } from "./account/you-page.tsx";
import { parEndpoint } from "./authorization/par-endpoint.ts";
import { submitScript } from "./authorization/respond-to-client.tsx";
import { deviceAuthorizationEndpoint } from "./device/device-authorization-endpoint.ts";
import { decideDevice, showDevice } from "./device/device-endpoint.tsx";
import { userCodeScript } from "./device/device-pages.tsx";
import { recoveryCodesScript } from "./factors/recovery-code-list.tsx";
import { authorizeEndpoint } from "./flow/authorize-endpoint.ts";
import { restartFlow, returnToStep, showStep, submitStep } from "./flow/serve-step.ts";
import { steps } from "./flow/steps.ts";
import type { PageRequest } from "./pages/frame.ts";
import { type PageHandler, servePage, servePlainPage } from "./pages/serve-page.tsx";
import { showPreview } from "./preview/preview-endpoint.ts";
import type { AuthEnv } from "./runtime/auth-env.ts";
import { readDeployment } from "./runtime/deployment.ts";
import { type AuthIsolate, createIsolate } from "./runtime/isolate.ts";
import { choosePath } from "./session/account-list.tsx";
import { frontChannelScript } from "./session/front-channel.tsx";
import { confirmLogout, logoutEndpoint } from "./session/logout-endpoint.tsx";
import { acceptInvitation, showInvitation } from "./sign-in/invitation-endpoint.tsx";
import { signInMethods } from "./sign-in/methods.ts";
import { signInStep } from "./sign-in/sign-in-step.ts";
import { type AfterReturn, postedCallback, upstreamCallback } from "./upstream/upstream-callback.ts";

const pageScripts = [
  ...signInMethods.flatMap(({ scripts }) => scripts),
  submitScript,
  recoveryCodesScript,
  userCodeScript,
  frontChannelScript,
];

const chooser = onFirstUse(() => import("./account/choose-account-page.tsx"));

/** What a person came back for, from an upstream provider. */
const afterUpstream: AfterReturn = {
  signIn: (at, f, judge) => returnToStep(at, signInStep, f, judge),
  connect: askToConnect,
};

/** **The routes of op-auth.** Each app has the memory of one isolate, so that a test can create several isolates. */
export function createApp(isolate: AuthIsolate = createIsolate()) {
  const app = new Router<AuthEnv>(isolate.reports);
  const authorize: PageHandler = (context, request) => authorizeEndpoint(context, isolate, request);
  servePage(app, isolate, "/authorize", { GET: authorize, POST: authorize });
  serveEndpoint(
    app,
    "/par",
    { POST: (context, request) => parEndpoint(context, isolate, request) },
    { cors: "when asked" },
  );
  serveEndpoint(
    app,
    "/device_authorization",
    { POST: (context, request) => deviceAuthorizationEndpoint(context, isolate, request) },
    { cors: "when asked" },
  );
  servePage(app, isolate, "/device", {
    GET: (context, request) => showDevice({ context, isolate, request }),
    POST: (context, request) => decideDevice({ context, isolate, request }),
  });

  servePage(app, isolate, "/invitation", {
    GET: (context, request) => showInvitation({ context, isolate, request }),
    POST: (context, request) => acceptInvitation({ context, isolate, request }),
  });

  for (const step of steps) {
    servePage(app, isolate, `/flow/${step.name}`, {
      GET: (context, request) => showStep({ context, isolate, request }, step),
      POST: (context, request) => submitStep({ context, isolate, request }, step),
    });
  }
  servePlainPage(app, isolate, languagePath, { POST: changeLanguage });
  servePage(app, isolate, "/flow/restart", {
    GET: (context, request) => restartFlow({ context, isolate, request }),
  });
  servePage(app, isolate, "/flow/preview/:page", {
    GET: (context, request, { page = "" }) => showPreview({ context, isolate, request }, page),
  });
  servePage(app, isolate, "/upstream/:id/callback", {
    GET: (context, request, { id = "" }) => upstreamCallback({ context, isolate, request }, id, afterUpstream),
    POST: (context, request, { id = "" }) => postedCallback({ context, isolate, request }, id),
  });
  const receiver = onFirstUse(() => import("./upstream/backchannel-logout.ts"));
  serveEndpoint(app, "/upstream/:id/backchannel-logout", {
    POST: async (context, request, { id = "" }) =>
      (await receiver()).backchannelLogout({ context, isolate, request }, id),
  });
  const logout: PageHandler = (context, request) => logoutEndpoint(context, isolate, request);
  servePage(app, isolate, "/logout", { GET: logout, POST: logout });
  servePage(app, isolate, "/logout/confirm", {
    POST: (context, request) => confirmLogout(context, isolate, request),
  });

  const account = (serve: (at: PageRequest) => Promise<Response>): PageHandler => {
    return (context, request) => serve({ context, isolate, request });
  };
  servePage(app, isolate, accountPages.you, { GET: account(showYou) });
  servePage(app, isolate, accountPages.security, { GET: account(showSecurity) });
  servePage(app, isolate, accountPages.applications, { GET: account(showApplications) });
  servePage(app, isolate, accountPages.activity, { GET: account(showActivity) });
  servePage(app, isolate, choosePath, {
    GET: account(async (at) => (await chooser()).showChooseAccount(at)),
    POST: account(async (at) => (await chooser()).chooseAccountOf(at)),
  });
  servePage(app, isolate, "/account/passkeys", { GET: account(showSecurity), POST: account(addPasskey) });
  servePage(app, isolate, "/account/passkeys/remove", {
    GET: account(confirmRemovePasskey),
    POST: account(removePasskey),
  });
  servePage(app, isolate, "/account/passkeys/rename", { GET: account(showSecurity), POST: account(changePasskeyName) });
  servePage(app, isolate, "/account/apps", { GET: account(showAddApp), POST: account(addApp) });
  servePage(app, isolate, "/account/recovery-codes", { GET: account(showMakeCodes), POST: account(makeCodes) });
  servePage(app, isolate, "/account/factors/remove", {
    GET: account(confirmRemoveFactor),
    POST: account(removeOwnFactor),
  });
  servePage(app, isolate, "/account/identities", { GET: account(showSecurity), POST: account(beginConnecting) });
  servePage(app, isolate, "/account/identities/confirm", {
    GET: account(showConnecting),
    POST: account(confirmConnecting),
  });
  servePage(app, isolate, "/account/identities/remove", {
    GET: account(confirmRemoveIdentity),
    POST: account(removeIdentity),
  });
  servePage(app, isolate, "/account/consents", { GET: account(showApplications), POST: account(removeConsent) });
  servePage(app, isolate, "/account/consents/remove", { GET: account(confirmRemoveConsent) });
  servePage(app, isolate, ownLanguagePath, { GET: account(showYou), POST: account(changeOwnLanguage) });
  servePage(app, isolate, namePath, { GET: account(showYou), POST: account(changeName) });
  servePage(app, isolate, "/account/password", { GET: account(showChangePassword), POST: account(changePassword) });
  servePage(app, isolate, "/account/data", { GET: account(confirmDownload), POST: account(downloadData) });
  servePage(app, isolate, "/account/delete", { GET: account(confirmDeletion), POST: account(deleteAccount) });
  servePlainPage(app, isolate, "/account/deleted", { GET: account(showLeaving) });
  servePage(app, isolate, resetPath, { GET: account(showReset), POST: account(beginReset) });
  servePage(app, isolate, "/account/address", { GET: account(showChangeAddress), POST: account(changeAddress) });
  servePage(app, isolate, primaryPath, { GET: account(confirmPrimary), POST: account(makePrimary) });
  servePage(app, isolate, removePath, { GET: account(confirmRemoveAddress), POST: account(removeOtherAddress) });
  servePage(app, isolate, takeBackPath, { GET: account(showTakeBack), POST: account(submitTakeBack) });
  servePage(app, isolate, stopPath, { GET: account(showStop), POST: account(submitStop) });
  servePage(app, isolate, ownStopPath, { GET: account(showYou), POST: account(stopOwn) });
  servePage(app, isolate, "/account/sessions/end", { GET: account(confirmEndSession) });
  servePage(app, isolate, "/account/sessions/end-others", {
    GET: account(confirmEndOthers),
    POST: account(removeOtherSessions),
  });
  servePage(app, isolate, "/account/sessions", { GET: account(showApplications), POST: account(removeSession) });

  servePlainPage(app, isolate, "/assets/:name", {
    GET: async ({ env }, { url }, { name = "" }) =>
      serveAsset(readDeployment(env), pageScripts, name, url) ?? notFound(),
  });
  servePage(app, isolate, "/", { GET: (context, request) => showHome(context, isolate, request) });
  servePlainPage(app, isolate, "*", { GET: async () => notFound(), POST: async () => notFound() });
  return app;
}

function notFound(): never {
  throw new OAuthError("not_found", "page-unknown", { headers: { Vary: "Accept" } });
}
