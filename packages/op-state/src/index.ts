import { DurableObject } from "cloudflare:workers";
export class TokenRevocationStore extends DurableObject { hello() { return "hi"; } }
export class RefreshTokenRotator extends DurableObject {}
export class KeyManager extends DurableObject {}
export class AuthorizationCodeStore extends DurableObject {}
export class SessionStore extends DurableObject {}
export class ChallengeStore extends DurableObject {}
export class ControlPlane extends DurableObject {}
export default {} satisfies ExportedHandler;
