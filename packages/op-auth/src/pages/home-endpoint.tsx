import { displayName } from "@edge-op/pages/person";
import { respondPage } from "@edge-op/pages/respond-page";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthIsolate } from "../isolate.ts";
import { decidePerson } from "../session/signed-in-person.ts";
import { frameOf } from "./frame.ts";
import { HomePage } from "./home-page.tsx";

/** **`GET /`** for browsers; `op` responds 404 to other clients. Cost: 0; with a session cookie 1 object call. */
export async function showHome(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
): Promise<Response> {
  const person = await decidePerson({ context, isolate, request });
  const user = person && displayName(person.user);
  const headers = { Vary: "Accept" };
  return respondPage(<HomePage frame={frameOf(context, request)} user={user} />, { headers });
}
