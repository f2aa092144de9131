import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { resetLinkMs, resetLinkTo } from "@edge-op/shared/mail/sealed-links";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { hashPassword } from "@edge-op/shared/secrets/password-hash";
import { savePassword } from "@edge-op/shared/users/credentials";
import { verifiedAddress } from "@edge-op/shared/users/user-addresses";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { forgetAccess } from "./patch-user.ts";
import { requireOtherUser } from "./user-table.ts";

const scope = "admin:users";

/** NIST SP 800-63B-4 §4.2.1.1: as long as a mailed recovery. */
const temporaryMs = 86_400_000;
const groups = 4;
const groupCharacters = 5;
/** Without characters that look alike. */
const alphabet = "23456789abcdefghjkmnpqrstuvwxyz";

const mailResetLink = defineRoute({
  method: "POST",
  path: "/users/{sub}/reset-link",
  operationId: "mailResetLink",
  summary:
    "Mails a user a link to set a new password, at their main address. It works for 24 hours, until a password is set. Second factors stay, and are asked for. Nothing ends before the new password is set.",
  scope,
  response: { status: 204, description: "The link is mailed. It is in the mail only." },
  async handle(call) {
    const { context, isolate } = call;
    const { env, settings } = context;
    const { sub, claims, status } = await requireOtherUser(call);
    const address = verifiedAddress(claims);
    const fault =
      settings.mailProvider === "off"
        ? "No mail is sent: MAIL_PROVIDER is off."
        : status === "suspended"
          ? "The user is suspended."
          : "The user has no verified address.";
    if (settings.mailProvider === "off" || status === "suspended" || address === undefined) {
      throw new OAuthError("conflict", "reset-not-possible", { description: fault });
    }
    // The link ends with the first change after this version that ends what rests on a password.
    await isolate.revocation.confirmControl(context);
    const controlVersion = isolate.control.version ?? 0;
    const path = await resetLinkTo(env, { sub, key: address.key, controlVersion, untilMs: nowMs() + resetLinkMs });
    await commitChange(call, {
      statements: [],
      forget: [],
      event: { action: "user.reset_link", target: sub },
      notice: { sub, claims, kind: "reset-link-by-administrator", undo: { address: address.address, path } },
    });
    return { body: undefined };
  },
});

const temporaryPasswordSchema = z
  .strictObject({
    temporary_password: z.string().meta({ format: "password" }).describe("It is shown once, and stored nowhere."),
    expires_at: z.int().describe("Seconds since the epoch."),
  })
  .meta({
    id: "TemporaryPassword",
    examples: [{ temporary_password: "k7m2x-9qfhd-w4tbn-6rzcp", expires_at: 1795086400 }],
  });

const setTemporaryPassword = defineRoute({
  method: "POST",
  path: "/users/{sub}/temporary-password",
  operationId: "setTemporaryPassword",
  summary:
    "Replaces the password of a user by a generated one, which works for 24 hours and only to set another one. Second factors stay. Ends every session and grant of the user. In force everywhere when the call returns.",
  scope,
  response: {
    status: 201,
    description: "The temporary password. Give it to the user in person.",
    schema: temporaryPasswordSchema,
  },
  async handle(call) {
    const { DB } = call.context.env;
    const { sub, claims } = await requireOtherUser(call);
    const password = generatePassword();
    const atMs = nowMs();
    const untilMs = atMs + temporaryMs;
    await commitChange(call, {
      statements: [savePassword(DB, sub, await hashPassword(password), atMs, untilMs), ...forgetAccess(DB, sub)],
      forget: [{ kind: "user", id: sub }],
      event: { action: "user.temporary_password", target: sub },
      cutOff: { kind: "sub", id: sub },
      notice: { sub, claims, kind: "password-set-by-administrator" },
    });
    return { body: { temporary_password: password, expires_at: toSeconds(untilMs) } };
  },
});

/** 99 bits, in groups that a person can read out. */
function generatePassword(): string {
  const group = () => Array.from({ length: groupCharacters }, randomCharacter).join("");
  return Array.from({ length: groups }, group).join("-");
}

function randomCharacter(): string {
  const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
  // Each character is as likely as any other.
  return byte < alphabet.length * 8 ? alphabet[byte % alphabet.length]! : randomCharacter();
}

/**
 * **How an administrator lets a user back in.** Cost: a link 3 D1 calls and 1 object call; a temporary password 3, its hash, and the control plane's
 * round.
 */
export const passwordRoutes: readonly AdminRoute[] = [mailResetLink, setTemporaryPassword];
