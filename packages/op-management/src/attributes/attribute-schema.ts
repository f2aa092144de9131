/** **Requests and responses of `/admin/attributes`.** */

import { attributeDocumentSchema, attributeName } from "@edge-op/shared/users/attribute-schema";
import * as z from "zod";

export const attributeCreateSchema = attributeDocumentSchema
  .extend({ attribute: attributeName.describe("Its name: the member of `attributes` in the records of users.") })
  .meta({ id: "AttributeCreate" });

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
