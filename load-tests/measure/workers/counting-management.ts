/** **op-management with counted storage calls**, background work included. `GET /counted` returns the totals of the isolate. */

import worker from "../../../packages/op-management/src/index.ts";
import { type CallCounts, countCalls } from "../../../packages/shared/src/http/count-calls.ts";

const counts: CallCounts = { object: 0, kv: 0, d1: 0 };

export default {
  ...worker,
  fetch(request: Request, env: Parameters<typeof worker.fetch>[1], context: ExecutionContext) {
    if (new URL(request.url).pathname === "/counted") return Response.json(counts);
    return worker.fetch(request, countCalls(env, counts), context);
  },
};
