export { ChallengeStore } from "./challenges/challenge-store.ts";
export { AuthorizationCodeStore } from "./codes/authorization-code-store.ts";
export { ControlPlane } from "./control/control-plane.ts";
export { KeyManager } from "./keys/key-manager.ts";
export { MailSender } from "./mail/mail-sender.ts";
export { RefreshTokenRotator } from "./refresh/refresh-token-rotator.ts";
export { RevocationRelay } from "./relay/revocation-relay.ts";
export { TokenRevocationStore } from "./revocation/token-revocation-store.ts";
export { SessionStore } from "./sessions/session-store.ts";

/** No route: Workers call the objects by `script_name` only. */
export default {} satisfies ExportedHandler;
