/** **Requests and responses of `/admin/invitations`.** */

import { textLanguages } from "@edge-op/shared/config/text-languages";
import { visibleText } from "@edge-op/shared/http/plain-text";
import * as z from "zod";
import { rbacNames } from "../roles/role-schema.ts";

const email = z.string().max(254).describe("The address that is invited. Mail can be sent to it, and nobody has it.");
const name = visibleText(100).describe("Shown to the person, who may change it.");

export const invitationCreateSchema = z
  .strictObject({
    email,
    name: name.exactOptional(),
    roles: rbacNames.exactOptional(),
    groups: rbacNames.exactOptional(),
    locale: z
      .enum(Object.keys(textLanguages))
      .exactOptional()
      .describe("The language of the mail; English by default."),
  })
  .meta({ id: "InvitationCreate" });

export const invitationSchema = z
  .strictObject({
    invitation_id: z.string(),
    email,
    name: name.exactOptional(),
    roles: z.array(z.string()),
    groups: z.array(z.string()),
    invited_by: z.string().describe("The subject of the admin token."),
    created_at: z.int().describe("Seconds since the epoch."),
    expires_at: z.int().describe("Seconds since the epoch."),
  })
  .meta({
    id: "Invitation",
    examples: [
      {
        ...{ invitation_id: "pYc2T0F3m6q1Xn4bV8sLwg", email: "maria@example.com", name: "Maria Muster" },
        ...{ roles: [], groups: ["staff"], invited_by: "console" },
        ...{ created_at: 1795000000, expires_at: 1795604800 },
      },
    ],
  });
