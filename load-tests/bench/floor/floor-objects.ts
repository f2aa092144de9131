/**
 * **The baseline of endpoints that write**: in place of op-state, an object that only overwrites one row, durably. The other classes exist only
 * because Workers are bound to them.
 */

import { DurableObject } from "cloudflare:workers";

export class RefreshTokenRotator extends DurableObject<unknown> {
  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS row (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID");
  }

  async write(key: string, value: string): Promise<number> {
    this.ctx.storage.sql.exec(
      "INSERT INTO row VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
      key,
      value,
    );
    return value.length;
  }
}

export class AuthorizationCodeStore extends DurableObject {}
export class ChallengeStore extends DurableObject {}
export class ControlPlane extends DurableObject {}
export class KeyManager extends DurableObject {}
export class MailSender extends DurableObject {}
export class SessionStore extends DurableObject {}
export class TokenRevocationStore extends DurableObject {}

export default {} satisfies ExportedHandler;
