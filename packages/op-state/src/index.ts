import { objectOnFirstUse } from "./wake/object-on-first-use.ts";

export const ChallengeStore = objectOnFirstUse(
  async () => (await import("./challenges/challenge-store.ts")).ChallengeStore,
  { spendEach: true, put: true, peek: true, take: true, attempt: true, alarm: true, deploymentFacts: true },
);
export const AuthorizationCodeStore = objectOnFirstUse(
  async () => (await import("./codes/authorization-code-store.ts")).AuthorizationCodeStore,
  {
    spend: true,
    takeBack: true,
    openDevice: true,
    findDevice: true,
    decideDevice: true,
    pollDevice: true,
    redeemDevice: true,
    alarm: true,
    deploymentFacts: true,
  },
);
export const ControlPlane = objectOnFirstUse(async () => (await import("./control/control-plane.ts")).ControlPlane, {
  begin: true,
  follow: true,
  publish: true,
  cutOff: true,
  openGeneration: true,
  sealAgain: true,
  backUp: true,
  wakeAudit: true,
  report: true,
  refusals: true,
  auditStatus: true,
  alarm: true,
  deploymentFacts: true,
});
export const KeyManager = objectOnFirstUse(async () => (await import("./keys/key-manager.ts")).KeyManager, {
  schedule: true,
  rotate: true,
  revokeKey: true,
  alarm: true,
  deploymentFacts: true,
});
export const MailSender = objectOnFirstUse(async () => (await import("./mail/mail-sender.ts")).MailSender, {
  prepare: true,
  release: true,
  sendCode: true,
  recordFailures: true,
  status: true,
  alarm: true,
  deploymentFacts: true,
});
export const RefreshTokenRotator = objectOnFirstUse(
  async () => (await import("./refresh/refresh-token-rotator.ts")).RefreshTokenRotator,
  { create: true, rotate: true, takeBack: true, inspect: true, kill: true, alarm: true, deploymentFacts: true },
);
export const RevocationRelay = objectOnFirstUse(
  async () => (await import("./relay/revocation-relay.ts")).RevocationRelay,
  { lease: true, release: true, statistics: true, deploymentFacts: true },
);
export const TokenRevocationStore = objectOnFirstUse(
  async () => (await import("./revocation/token-revocation-store.ts")).TokenRevocationStore,
  {
    lease: true,
    confirm: true,
    release: true,
    check: true,
    revoke: true,
    raise: true,
    statistics: true,
    alarm: true,
    deploymentFacts: true,
  },
);
export const SessionStore = objectOnFirstUse(async () => (await import("./sessions/session-store.ts")).SessionStore, {
  open: true,
  use: true,
  admit: true,
  read: true,
  end: true,
  dismissClient: true,
  acknowledgeRevoked: true,
  reserveAttempt: true,
  recordThrottledSignIn: true,
  recordFailedSignIn: true,
  refundAttempt: true,
  alarm: true,
  deploymentFacts: true,
});

/** No route: Workers call the objects by `script_name` only. */
export default {} satisfies ExportedHandler;
