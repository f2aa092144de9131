import type { User } from "@edge-op/shared/directory/user";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { Session } from "@edge-op/shared/objects/session-store";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthIsolate } from "../isolate.ts";

/**
 * **The user of a live session**, if they are active and nobody has cut them off since they signed in: "revoke everything of this
 * subject" ends sessions too. Cut-offs are on every revocation shard; which one is asked goes by the session.
 * Cost warm: 0 calls (`direct`: 1 object call).
 */
export async function findSignedInUser(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  session: Session,
): Promise<User | undefined> {
  const address = await isolate.shardMap.place(context, "revocation", session.sid);
  const [user, isCutOff] = await Promise.all([
    isolate.users.find(context, session.sub),
    isolate.revocation.isRevoked(context, [
      {
        address,
        jti: session.sid,
        grantId: session.sid,
        grantCreatedAtMs: session.signedInAtMs,
        sub: session.sub,
        // A session is the provider's own: cutting off one client does not end it.
        clientId: context.settings.issuer,
        lineage: [],
      },
    ]),
  ]);
  return user?.status === "active" && !isCutOff ? user : undefined;
}
