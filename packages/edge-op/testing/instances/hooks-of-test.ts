import type { HookName, HooksWorker } from "@edge-op/shared/hooks/call-hook";

/** **The hooks of a test process** (src/serve-hooks.ts), in place of a Service Binding. */
export function hooksOfTest(origin: string): HooksWorker {
  const call = (name: HookName) => async (request: unknown) => {
    const response = await fetch(`${origin}/${name}`, { method: "POST", body: JSON.stringify(request) });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json<{ readonly value?: unknown }>()).value;
  };
  return {
    claims: call("claims"),
    beforeSignIn: call("beforeSignIn"),
    afterSignUp: call("afterSignUp"),
    mail: call("mail"),
    legacyPassword: call("legacyPassword"),
  };
}
