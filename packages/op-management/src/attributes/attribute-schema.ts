/** **Requests and responses of `/admin/attributes`.** */

import { has, isAmong, when } from "@edge-op/shared/http/plain-text";
import { attributeDocumentSchema, attributeName } from "@edge-op/shared/users/attribute-schema";
import * as z from "zod";
import { membersOfTypes } from "./attribute-document.ts";

export const attributeCreateSchema = attributeDocumentSchema
  .extend({ attribute: attributeName.describe("Its name: the member of `attributes` in the records of users.") })
  .meta({
    id: "AttributeCreate",
    allOf: Object.entries(membersOfTypes).map(([name, types]) => when(has(name), [isAmong("type", types)])),
  });

export const attributeSchema = attributeDocumentSchema
  .extend({
    attribute: z.string(),
    created_at: z.int().describe("Seconds since the epoch."),
    updated_at: z.int().describe("Seconds since the epoch."),
  })
  .meta({
    id: "Attribute",
    examples: [
      {
        ...{ attribute: "cost_centre", type: "string", max_length: 16 },
        ...{ title: "Cost centre", titles: { de: "Kostenstelle" } },
        claim: { name: "cost_centre", scope: "employment", tokens: ["id_token", "userinfo"] },
        ...{ created_at: 1795000000, updated_at: 1795000000 },
      },
    ],
  });
