import { DurableObject } from "cloudflare:workers";

export class TokenRevocationStore extends DurableObject {}
export { AuthorizationCodeStore } from "./authorization-code-store.ts";
export { KeyManager } from "./key-manager.ts";
export { RefreshTokenRotator } from "./refresh-token-rotator.ts";
export class SessionStore extends DurableObject {}
export { ChallengeStore } from "./challenge-store.ts";
export { ControlPlane } from "./control-plane.ts";

/** No route: Workers reach the objects by `script_name` alone. */
export default {} satisfies ExportedHandler;
