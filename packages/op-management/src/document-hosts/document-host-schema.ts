/** **Requests and responses of `/admin/client-document-hosts`**. */

import { isDocumentHost } from "@edge-op/shared/clients/document-policy";
import { documentPolicies } from "@edge-op/shared/config/setting-values";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import * as z from "zod";
import { nextCursor } from "../admin/paging.ts";

const policy = z
  .enum(documentPolicies)
  .describe(
    "`deny`: clients of its documents are refused; `ask`: users are asked at each request; `allow`: their consent is remembered.",
  );

export const documentHostBodySchema = z.strictObject({ policy }).meta({ id: "DocumentHostReplacement" });

export const documentHostSchema = z
  .strictObject({
    host: z
      .string()
      .describe(
        "A host name, `*.` and a host name for every host below it, or `*` for every host. The most specific one applies.",
      ),
    policy,
  })
  .meta({ id: "DocumentHost", examples: [{ host: "*.example.com", policy: "allow" }] });

export const documentHostListSchema = z
  .strictObject({ hosts: z.array(documentHostSchema), next_cursor: nextCursor })
  .meta({ id: "DocumentHostList" });

export function requireHost(host: string): string {
  if (isDocumentHost(host)) return host;
  const message =
    "must be a host name in lower case (xn-- for other scripts), an address as in a URL, *. and a host name, or *";
  throw invalidFields([{ path: "host", message }]);
}
