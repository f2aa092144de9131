import { displayName } from "@edge-op/pages/person";
import { decodeBase64Url, encodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { log } from "@edge-op/shared/runtime/log";
import { insertPasskey, type Passkey } from "@edge-op/shared/users/credentials";
import type { User } from "@edge-op/shared/users/user";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { readDeployment } from "../runtime/deployment.ts";
import { type Basis, writeAs } from "../session/write-as.ts";
import {
  challengeOf,
  describeCredentials,
  importWebAuthn,
  readAttestation,
  relyingParty,
  userHandle,
} from "./passkey-ceremony.ts";

/** **WebAuthn creation options, JSON**: a discoverable passkey with user verification, other than those already registered. */
export async function passkeyRegistrationOptions(
  context: RequestContext<AuthEnv>,
  user: Pick<User, "sub" | "username" | "claims">,
  registered: readonly Passkey[],
  ceremonyId: string,
): Promise<string> {
  const { generateRegistrationOptions } = await importWebAuthn();
  const options = await generateRegistrationOptions({
    rpName: readDeployment(context.env).name,
    rpID: relyingParty(context).id,
    userName: user.username,
    userDisplayName: displayName(user),
    userID: decodeBase64Url(await userHandle(user.sub))!,
    challenge: decodeBase64Url(await challengeOf(context, "create", ceremonyId))!,
    attestationType: "none",
    excludeCredentials: describeCredentials(registered),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
  return JSON.stringify(options);
}

export interface PostedPasskey {
  readonly response: string;
  readonly name: string;
  /** The browser created it without asking, right after a sign-in by password: it neither saw nor verified the person. */
  readonly isConditional?: boolean;
}

/** A passkey that a page has created, and whether it never leaves its authenticator. */
export interface CreatedPasskey {
  readonly passkey: Passkey;
  readonly isBound: boolean;
}

/**
 * **Verifies a new passkey** of this ceremony; `undefined` if the response does not verify. Cost: 0.
 *
 * @see https://www.w3.org/TR/webauthn-3/#sctn-registering-a-new-credential
 */
export async function verifyNewPasskey(
  context: RequestContext<AuthEnv>,
  sub: string,
  ceremonyId: string,
  { response, name, isConditional = false }: PostedPasskey,
): Promise<CreatedPasskey | undefined> {
  const credential = readAttestation(context, response);
  if (credential === undefined) return undefined;
  const { id, origins } = relyingParty(context);
  const expectedChallenge = await challengeOf(context, "create", ceremonyId);
  const { verifyRegistrationResponse } = await importWebAuthn();
  try {
    const { verified, registrationInfo: info } = await verifyRegistrationResponse({
      response: credential,
      expectedChallenge,
      expectedOrigin: origins,
      expectedRPID: id,
      requireUserPresence: !isConditional,
      requireUserVerification: !isConditional,
    });
    if (!verified) return undefined;
    const passkey = {
      credentialId: info.credential.id,
      sub,
      publicKey: encodeBase64Url(new Uint8Array(info.credential.publicKey)),
      signCount: info.credential.counter,
      transports: info.credential.transports ?? [],
      backedUp: info.credentialBackedUp,
      name,
      createdAtMs: context.arrivedAtMs,
      lastUsedAtMs: undefined,
    };
    return { passkey, isBound: info.credentialDeviceType === "singleDevice" };
  } catch (cause) {
    log("passkey-not-registered", { cause: String(cause), requestId: context.requestId });
    return undefined;
  }
}

/** **Registers a passkey.** Returns false if the response does not verify or the passkey is registered already. Cost: 1 D1 call. */
export async function registerPasskey(
  context: RequestContext<AuthEnv>,
  { sub, claims }: User,
  basis: Basis,
  { ceremonyId, ...created }: PostedPasskey & { readonly ceremonyId: string },
): Promise<boolean> {
  const verified = await verifyNewPasskey(context, sub, ceremonyId, created);
  if (verified === undefined) return false;
  const { passkey } = verified;
  const added = { action: "passkey.added", target: passkey.credentialId, actor: sub };
  const event = recordAdminEvent(context, added, { ifChanged: true });
  const takesBack = { kind: "passkey", id: passkey.credentialId } as const;
  const notice = { sub, claims, kind: "passkey-added", evidence: added, takesBack } as const;
  const isAdded = await tellPerson(context, notice, async () => {
    const { DB } = context.env;
    return writeAs(context, basis, [insertPasskey(DB, passkey), event]);
  });
  if (isAdded) wakeAuditLog(context);
  return isAdded;
}
