export { AuthorizationCodeStore } from "./authorization-code-store.ts";
export { ChallengeStore } from "./challenge-store.ts";
export { ControlPlane } from "./control-plane.ts";
export { KeyManager } from "./key-manager.ts";
export { RefreshTokenRotator } from "./refresh-token-rotator.ts";
export { SessionStore } from "./session-store.ts";
export { TokenRevocationStore } from "./token-revocation-store.ts";

/** No route: Workers reach the objects by `script_name` alone. */
export default {} satisfies ExportedHandler;
