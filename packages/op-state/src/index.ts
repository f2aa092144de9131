import { DurableObject } from "cloudflare:workers";

export class TokenRevocationStore extends DurableObject {}
export class RefreshTokenRotator extends DurableObject {}
export { KeyManager } from "./key-manager.ts";
export class AuthorizationCodeStore extends DurableObject {}
export class SessionStore extends DurableObject {}
export { ChallengeStore } from "./challenge-store.ts";
export class ControlPlane extends DurableObject {}

/** No route: Workers reach the objects by `script_name` alone. */
export default {} satisfies ExportedHandler;
