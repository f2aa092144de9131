import type { ApiDocument } from "../../packages/edge-op/src/operations/api-document.ts";
import { describeApi } from "../../packages/op-management/src/admin/openapi.ts";
import { adminRouteTable } from "../../packages/op-management/src/admin-routes.ts";

/** **The OpenAPI document of the admin API**, as `/admin/openapi.json` has it: for the commands of `edge-op`, and their page. */
export function adminApiDocument(): ApiDocument {
  return describeApi(adminRouteTable, "https://op.example.com") as unknown as ApiDocument;
}
