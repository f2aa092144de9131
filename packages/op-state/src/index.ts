import { DurableObject } from "cloudflare:workers";
export class TokenRevocationStore extends DurableObject { hello() { return "hi"; } }
export class RefreshTokenRotator extends DurableObject {}
export { KeyManager } from "./key-manager.ts";
export class AuthorizationCodeStore extends DurableObject {}
export { SessionStore } from "./session-store.ts";
export class ChallengeStore extends DurableObject {}
export class ControlPlane extends DurableObject {}
export default {} satisfies ExportedHandler;
