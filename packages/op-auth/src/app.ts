import { serveAsset } from "@edge-op/pages/assets";
import { changeLanguage, languagePath } from "@edge-op/pages/language-switch";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { jsonBody } from "@edge-op/shared/http/received-request";
import { Router } from "@edge-op/shared/http/router";
import { serveEndpoint } from "@edge-op/shared/http/serve-endpoint";
import { resetPath, stopPath, takeBackPath } from "@edge-op/shared/mail/sealed-links";
import { onFirstUse } from "@edge-op/shared/runtime/on-first-use";
import {
  accountPages,
  namePath,
  ownLanguagePath,
  ownStopPath,
  primaryPath,
  removePath,
} from "./account/account-areas.ts";
import type { AccountHandlers } from "./account/account-handlers.ts";
import { parEndpoint } from "./authorization/par-endpoint.ts";
import { submitScript } from "./authorization/respond-to-client.tsx";
import { userCodeScript } from "./device/device-pages.tsx";
import { recoveryCodesScript } from "./factors/recovery-code-list.tsx";
import { authorizeEndpoint } from "./flow/authorize-endpoint.ts";
import { restartFlow, returnToStep, showStep, submitStep } from "./flow/serve-step.ts";
import { steps } from "./flow/steps.ts";
import { type PageHandler, servePage, servePlainPage } from "./pages/serve-page.tsx";
import { showPreview } from "./preview/preview-endpoint.ts";
import type { AuthEnv } from "./runtime/auth-env.ts";
import { readDeployment } from "./runtime/deployment.ts";
import { type AuthIsolate, createIsolate } from "./runtime/isolate.ts";
import { choosePath } from "./session/account-list.tsx";
import { frontChannelScript } from "./session/front-channel.tsx";
import { confirmLogout, logoutEndpoint } from "./session/logout-endpoint.tsx";
import { signInMethods } from "./sign-in/methods.ts";
import { signInStep } from "./sign-in/sign-in-step.ts";
import type { AfterReturn } from "./upstream/upstream-callback.ts";

const pageScripts = [
  ...signInMethods.flatMap(({ scripts }) => scripts),
  submitScript,
  recoveryCodesScript,
  userCodeScript,
  frontChannelScript,
];

const authorizeDevice = onFirstUse(() => import("./device/device-authorization-endpoint.ts"));
const device = onFirstUse(() => import("./device/device-endpoint.tsx"));
const invitation = onFirstUse(() => import("./sign-in/invitation-endpoint.tsx"));
const callback = onFirstUse(() => import("./upstream/upstream-callback.ts"));
/** Most isolates serve no page of an account. */
const accountHandlers = onFirstUse(async () => (await import("./account/account-handlers.ts")).accountHandlers);

/** What a person came back for, from an upstream provider. */
const afterUpstream: AfterReturn = {
  signIn: (at, f, judge) => returnToStep(at, signInStep, f, judge),
  connect: async (...response) => (await accountHandlers()).askToConnect(...response),
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
    {
      POST: async (context, request) =>
        (await authorizeDevice()).deviceAuthorizationEndpoint(context, isolate, request),
    },
    { cors: "when asked" },
  );
  servePage(app, isolate, "/device", {
    GET: async (context, request) => (await device()).showDevice({ context, isolate, request }),
    POST: async (context, request) => (await device()).decideDevice({ context, isolate, request }),
  });

  servePage(app, isolate, "/invitation", {
    GET: async (context, request) => (await invitation()).showInvitation({ context, isolate, request }),
    POST: async (context, request) => (await invitation()).acceptInvitation({ context, isolate, request }),
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
    GET: async (context, request, { id = "" }) =>
      (await callback()).upstreamCallback({ context, isolate, request }, id, afterUpstream),
    POST: async (context, request, { id = "" }) => (await callback()).postedCallback({ context, isolate, request }, id),
  });
  const receiver = onFirstUse(() => import("./upstream/backchannel-logout.ts"));
  serveEndpoint(app, "/upstream/:id/backchannel-logout", {
    POST: async (context, request, { id = "" }) =>
      (await receiver()).backchannelLogout({ context, isolate, request }, id),
  });
  const revocations = onFirstUse(() => import("./upstream/global-token-revocation.ts"));
  serveEndpoint(
    app,
    "/upstream/:id/global-token-revocation",
    {
      POST: async (context, request, { id = "" }) =>
        (await revocations()).globalTokenRevocation({ context, isolate, request }, id),
    },
    { body: jsonBody("application/json") },
  );
  const logout: PageHandler = (context, request) => logoutEndpoint(context, isolate, request);
  servePage(app, isolate, "/logout", { GET: logout, POST: logout });
  servePage(app, isolate, "/logout/confirm", {
    POST: (context, request) => confirmLogout(context, isolate, request),
  });

  const account = (name: Exclude<keyof AccountHandlers, "askToConnect">): PageHandler => {
    return async (context, request) => (await accountHandlers())[name]({ context, isolate, request });
  };
  servePage(app, isolate, accountPages.you, { GET: account("showYou") });
  servePage(app, isolate, accountPages.security, { GET: account("showSecurity") });
  servePage(app, isolate, accountPages.applications, { GET: account("showApplications") });
  servePage(app, isolate, accountPages.activity, { GET: account("showActivity") });
  servePage(app, isolate, choosePath, {
    GET: account("showChooseAccount"),
    POST: account("chooseAccountOf"),
  });
  servePage(app, isolate, "/account/passkeys", { GET: account("showSecurity"), POST: account("addPasskey") });
  servePage(app, isolate, "/account/passkeys/remove", {
    GET: account("confirmRemovePasskey"),
    POST: account("removePasskey"),
  });
  servePage(app, isolate, "/account/passkeys/rename", {
    GET: account("showSecurity"),
    POST: account("changePasskeyName"),
  });
  servePage(app, isolate, "/account/apps", { GET: account("showAddApp"), POST: account("addApp") });
  servePage(app, isolate, "/account/recovery-codes", { GET: account("showMakeCodes"), POST: account("makeCodes") });
  servePage(app, isolate, "/account/factors/remove", {
    GET: account("confirmRemoveFactor"),
    POST: account("removeOwnFactor"),
  });
  servePage(app, isolate, "/account/identities", { GET: account("showSecurity"), POST: account("beginConnecting") });
  servePage(app, isolate, "/account/identities/confirm", {
    GET: account("showConnecting"),
    POST: account("confirmConnecting"),
  });
  servePage(app, isolate, "/account/identities/remove", {
    GET: account("confirmRemoveIdentity"),
    POST: account("removeIdentity"),
  });
  servePage(app, isolate, "/account/consents", { GET: account("showApplications"), POST: account("removeConsent") });
  servePage(app, isolate, "/account/consents/remove", { GET: account("confirmRemoveConsent") });
  servePage(app, isolate, ownLanguagePath, { GET: account("showYou"), POST: account("changeOwnLanguage") });
  servePage(app, isolate, namePath, { GET: account("showYou"), POST: account("changeName") });
  servePage(app, isolate, "/account/password", { GET: account("showChangePassword"), POST: account("changePassword") });
  servePage(app, isolate, "/account/data", { GET: account("confirmDownload"), POST: account("downloadData") });
  servePage(app, isolate, "/account/delete", { GET: account("confirmDeletion"), POST: account("deleteAccount") });
  servePlainPage(app, isolate, "/account/deleted", { GET: account("showLeaving") });
  servePage(app, isolate, resetPath, { GET: account("showReset"), POST: account("beginReset") });
  servePage(app, isolate, "/account/address", { GET: account("showChangeAddress"), POST: account("changeAddress") });
  servePage(app, isolate, primaryPath, { GET: account("confirmPrimary"), POST: account("makePrimary") });
  servePage(app, isolate, removePath, { GET: account("confirmRemoveAddress"), POST: account("removeOtherAddress") });
  servePage(app, isolate, takeBackPath, { GET: account("showTakeBack"), POST: account("submitTakeBack") });
  servePage(app, isolate, stopPath, { GET: account("showStop"), POST: account("submitStop") });
  servePage(app, isolate, ownStopPath, { GET: account("showYou"), POST: account("stopOwn") });
  servePage(app, isolate, "/account/sessions/end", { GET: account("confirmEndSession") });
  servePage(app, isolate, "/account/sessions/end-others", {
    GET: account("confirmEndOthers"),
    POST: account("removeOtherSessions"),
  });
  servePage(app, isolate, "/account/sessions", { GET: account("showApplications"), POST: account("removeSession") });

  servePlainPage(app, isolate, "/assets/:name", {
    GET: async ({ env }, { url }, { name = "" }) =>
      serveAsset(readDeployment(env), pageScripts, name, url) ?? notFound(),
  });
  servePage(app, isolate, "/", { GET: account("showHome") });
  servePlainPage(app, isolate, "*", { GET: async () => notFound(), POST: async () => notFound() });
  return app;
}

function notFound(): never {
  throw new OAuthError("not_found", "page-unknown", { headers: { Vary: "Accept" } });
}
